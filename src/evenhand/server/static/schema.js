// The live check of a JSON schema while it is typed, and of an output against it. Without this, a button asks the server.
import { headers } from "/static/app.js";

const WAIT = 250;

/** @typedef {{line?: number, column?: number, path?: string, message: string}} Told */
/** @typedef {{is_schema: boolean, is_valid: boolean | null, schema_errors: Told[], output_errors: Told[]}} Checked */

/** @param {string} name @param {string} text @param {string} [kind] */
function made(name, text, kind = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

/** @param {Told[]} errors */
function list(errors) {
  const whole = document.createElement("ul");
  for (const one of errors) {
    const item = document.createElement("li");
    const where = one.line ? `line ${one.line}, column ${one.column}` : "";
    item.append(made("span", where, "where"), made("code", one.path ?? ""), made("span", one.message));
    whole.append(item);
  }
  return whole;
}

/** @param {Element} place @param {...Node} shown */
function show(place, ...shown) {
  place.replaceChildren(...shown);
}

/** @param {string} standing @param {string} sign @param {string} said a line that begins with a verdict */
function judged(standing, sign, said) {
  const line = made("p", "");
  line.append(made("span", `${sign} ${standing}`, `badge ${standing}`), ` ${said}`);
  return line;
}

/** @param {string} said */
function fine(said) {
  const line = made("p", "", "fine");
  const sign = made("span", "✓ ");
  sign.setAttribute("aria-hidden", "true");
  line.append(sign, said);
  return line;
}

/** Lay JSON out on lines of its own, every value as it was written: reading and writing it would round long numbers.
 * @param {string} text JSON */
function laidOut(text) {
  const line = (depth) => `\n${"  ".repeat(depth)}`;
  let depth = 0;
  let before = "";
  return text.replace(/"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]|\s+/g, (piece) => {
    if (!piece.trim()) return "";
    const opens = piece === "{" || piece === "[";
    const closes = piece === "}" || piece === "]";
    if (closes) depth -= 1;
    const first = before === "{" || before === "[";
    const broken = before === "," || (first && !closes) || (closes && !first);
    before = piece;
    const shown = (broken ? line(depth) : "") + (piece === ":" ? ": " : piece);
    if (opens) depth += 1;
    return shown;
  });
}

/** @param {HTMLElement} part what has the field of a schema, and perhaps that of an output */
function watch(part) {
  const schema = part.querySelector("textarea[name$=schema]");
  const output = part.querySelector("textarea[name=output]");
  const told = part.querySelector("[data-schema-result]");
  const toldOutput = part.querySelector("[data-output-result]");
  const hasEvaluation = schema.name === "evaluation_schema";
  let timer = 0;
  let asked = 0;

  const check = async () => {
    const mine = ++asked;
    if (!schema.value.trim()) {
      settle();
      show(told, ...(hasEvaluation ? [made("p", "Empty: answers to this test case are not evaluated.", "quiet")] : []));
      if (toldOutput) show(toldOutput);
      return;
    }
    const body = { schema: schema.value, purpose: hasEvaluation ? "evaluate" : "generate" };
    if (output?.value) body.output = output.value;
    let found;
    try {
      const answer = await fetch("/api/check-schema", { method: "POST", headers: headers(), body: JSON.stringify(body) });
      found = await answer.json();
      if (!answer.ok) throw new Error(found.detail ?? `the server said ${answer.status}`);
    } catch (error) {
      if (mine === asked) show(told, made("p", `Not checked: ${error.message}`, "quiet"));
      return;
    }
    if (mine === asked) tell(found);
  };

  /** Take back what was said about a schema that was sent: it is another one now. */
  const settle = () => {
    schema.removeAttribute("aria-invalid");
    const error = document.getElementById(`${schema.id}-error`);
    if (!error) return;
    schema.setAttribute("aria-describedby", schema.getAttribute("aria-describedby").replace(error.id, "").trim());
    error.closest(".field").classList.remove("wrong");
    error.remove();
    document.querySelector(".notice.error")?.remove();
  };

  /** @param {Checked} found */
  const tell = (found) => {
    if (found.is_schema) {
      settle();
      show(told, fine("The schema is valid."));
    } else {
      schema.setAttribute("aria-invalid", "true");
      show(told, list(found.schema_errors));
    }
    if (!toldOutput) return;
    if (!found.is_schema || !output.value) show(toldOutput);
    else if (found.is_valid) show(toldOutput, judged("pass", "✓", "Valid: it would score 1."));
    else {
      const failed = found.is_valid === false;
      const said = failed ? judged("fail", "✗", "Invalid: it would score 0.") : judged("error", "!", "It could not be checked.");
      show(toldOutput, said, list(found.output_errors));
    }
  };

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(check, WAIT);
  };
  schema.addEventListener("input", soon);
  output?.addEventListener("input", soon);
  // What was written before this script was there is checked as well.
  if ([schema, output].some((field) => field && field.value !== field.defaultValue)) soon();
  for (const button of part.querySelectorAll("[data-check]")) {
    button.addEventListener("click", (event) => {
      event.preventDefault();
      check();
    });
  }
  const tools = part.querySelector("[data-schema-tools]");
  tools.hidden = false;
  tools.querySelector("[data-format]").addEventListener("click", () => {
    try {
      JSON.parse(schema.value);
      schema.value = laidOut(schema.value);
    } catch {
      // What is no JSON cannot be laid out; the check says where it breaks.
    }
    check();
  });
}

for (const part of document.querySelectorAll("[data-schema]")) watch(part);
