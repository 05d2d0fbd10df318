"""Evenhand judges the outputs of language models.

Every judgment accounted for, every number with an error bar, every judge put to the test. The public names load when
they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.version import __version__ as __version__

if TYPE_CHECKING:  # the names for type checkers, which want them spelt twice; at run time they come from _HOMES
    from evenhand.api.doctor import examine_judge as examine_judge
    from evenhand.api.drift import drift as drift
    from evenhand.api.exports import ExportedRun as ExportedRun, export_results as export_results
    from evenhand.api.judge_panel import compare_judges as compare_judges
    from evenhand.api.judges import (
        create_async_json_match_evaluator as create_async_json_match_evaluator,
        create_async_llm_as_judge as create_async_llm_as_judge,
        create_json_match_evaluator as create_json_match_evaluator,
        create_llm_as_judge as create_llm_as_judge,
    )
    from evenhand.api.labels import add_labels as add_labels, draw_labels as draw_labels
    from evenhand.api.profiles import (
        audit as audit,
        evaluate_profiles as evaluate_profiles,
        rank as rank,
        score as score,
    )
    from evenhand.api.runs import (
        aevaluate as aevaluate,
        compare as compare,
        evaluate as evaluate,
        win_rate as win_rate,
    )
    from evenhand.api.tune import tune as tune
    from evenhand.convert.conversion import import_results as import_results
    from evenhand.doctor.judge_examination import JudgeExamination as JudgeExamination
    from evenhand.domain.aggregate import CaseScore as CaseScore, Weighed as Weighed, case_score as case_score
    from evenhand.domain.ask import (
        Ask as Ask,
        Call as Call,
        Evaluator as Evaluator,
        Exec as Exec,
        ModelClient as ModelClient,
        Steps as Steps,
    )
    from evenhand.domain.case import Case as Case, Profile as Profile
    from evenhand.domain.comparison import Comparison as Comparison
    from evenhand.domain.contract import Contract as Contract
    from evenhand.domain.errors import (
        ConfigError as ConfigError,
        EvenhandError as EvenhandError,
        GatesFailed as GatesFailed,
        MissingKeyError as MissingKeyError,
        MissingModelError as MissingModelError,
        ModelFetchError as ModelFetchError,
        RunStoppedError as RunStoppedError,
        ScriptExhaustedError as ScriptExhaustedError,
        TemplateError as TemplateError,
        UnknownNameError as UnknownNameError,
    )
    from evenhand.domain.evaluation import (
        Attempt as Attempt,
        Check as Check,
        Evaluation as Evaluation,
        JudgeError as JudgeError,
        Status as Status,
        Usage as Usage,
    )
    from evenhand.domain.label import Draw as Draw, Label as Label
    from evenhand.domain.message import Message as Message
    from evenhand.domain.reply import Reply as Reply, TokenChoice as TokenChoice, Unanswered as Unanswered
    from evenhand.domain.rubric import Rubric as Rubric
    from evenhand.domain.run import CaseResult as CaseResult
    from evenhand.domain.secret import Secret as Secret
    from evenhand.domain.summary import CorrectedNumbers as CorrectedNumbers, Summary as Summary
    from evenhand.domain.verdict import Thresholds as Thresholds, Verdict as Verdict
    from evenhand.engine.run import Run as Run
    from evenhand.engine.win_rate import WinRate as WinRate
    from evenhand.evaluators.base import BaseEvaluator as BaseEvaluator
    from evenhand.evaluators.cascade import Cascade as Cascade
    from evenhand.evaluators.checks.json import IsJson as IsJson, JsonMatch as JsonMatch
    from evenhand.evaluators.checks.levenshtein import Levenshtein as Levenshtein
    from evenhand.evaluators.checks.numeric import Cost as Cost, Latency as Latency, Numeric as Numeric
    from evenhand.evaluators.checks.text import (
        Contains as Contains,
        EndsWith as EndsWith,
        Equals as Equals,
        IContains as IContains,
        Regex as Regex,
        StartsWith as StartsWith,
    )
    from evenhand.evaluators.checks.text_overlap import Bleu as Bleu, Chrf as Chrf, Rouge as Rouge, TokenF1 as TokenF1
    from evenhand.evaluators.code import CodeJudgeEvaluator as CodeJudgeEvaluator
    from evenhand.evaluators.composite import CompositeEvaluator as CompositeEvaluator, jury as jury
    from evenhand.evaluators.factory import EvaluatorResult as EvaluatorResult, FewShotExample as FewShotExample
    from evenhand.evaluators.field_accuracy import FieldAccuracy as FieldAccuracy
    from evenhand.evaluators.group_ranking import GroupRankingEvaluator as GroupRankingEvaluator
    from evenhand.evaluators.pairwise import PairwiseEvaluator as PairwiseEvaluator
    from evenhand.evaluators.profile_score import ProfileScoreEvaluator as ProfileScoreEvaluator
    from evenhand.evaluators.prompt import PromptEvaluator as PromptEvaluator
    from evenhand.evaluators.schema.evaluator import SchemaEvaluator as SchemaEvaluator
    from evenhand.labels.file import AddedLabels as AddedLabels
    from evenhand.models.replay import Scripted as Scripted
    from evenhand.models.resolve import resolve as resolve
    from evenhand.profiles.audit.audit import Audit as Audit
    from evenhand.profiles.ranking.ranked_profiles import RankedProfiles as RankedProfiles
    from evenhand.profiles.ranking.result import RankedProfile as RankedProfile
    from evenhand.profiles.scored_profiles import ScoredProfiles as ScoredProfiles
    from evenhand.profiles.scores import ProfileScore as ProfileScore
    from evenhand.stats.false_discoveries import benjamini_hochberg as benjamini_hochberg
    from evenhand.stats.paired import holm as holm
    from evenhand.stats.position_table import PositionTable as PositionTable, position_table as position_table
    from evenhand.stats.rater_agreement import Agreement as Agreement, agreement as agreement
    from evenhand.trust.card import JudgeCard as JudgeCard
    from evenhand.trust.drift import DriftReport as DriftReport
    from evenhand.trust.judge_panel import JudgesComparison as JudgesComparison
    from evenhand.tuner.result import Tuning as Tuning

_HOMES = {
    "api.drift": ("drift",),
    "api.doctor": ("examine_judge",),
    "api.exports": ("ExportedRun", "export_results"),
    "api.judge_panel": ("compare_judges",),
    "api.judges": (
        "create_async_json_match_evaluator",
        "create_async_llm_as_judge",
        "create_json_match_evaluator",
        "create_llm_as_judge",
    ),
    "api.labels": ("add_labels", "draw_labels"),
    "api.profiles": ("audit", "evaluate_profiles", "rank", "score"),
    "api.runs": ("aevaluate", "compare", "evaluate", "win_rate"),
    "api.tune": ("tune",),
    "convert.conversion": ("import_results",),
    "doctor.judge_examination": ("JudgeExamination",),
    "domain.aggregate": ("CaseScore", "Weighed", "case_score"),
    "domain.ask": ("Ask", "Call", "Evaluator", "Exec", "ModelClient", "Steps"),
    "domain.case": ("Case", "Profile"),
    "domain.comparison": ("Comparison",),
    "domain.contract": ("Contract",),
    "domain.errors": (
        "ConfigError",
        "EvenhandError",
        "GatesFailed",
        "MissingKeyError",
        "MissingModelError",
        "ModelFetchError",
        "RunStoppedError",
        "ScriptExhaustedError",
        "TemplateError",
        "UnknownNameError",
    ),
    "domain.evaluation": ("Attempt", "Check", "Evaluation", "JudgeError", "Status", "Usage"),
    "domain.label": ("Draw", "Label"),
    "domain.message": ("Message",),
    "domain.reply": ("Reply", "TokenChoice", "Unanswered"),
    "domain.rubric": ("Rubric",),
    "domain.run": ("CaseResult",),
    "domain.secret": ("Secret",),
    "domain.summary": ("CorrectedNumbers", "Summary"),
    "domain.verdict": ("Thresholds", "Verdict"),
    "engine.run": ("Run",),
    "engine.win_rate": ("WinRate",),
    "evaluators.base": ("BaseEvaluator",),
    "evaluators.checks.json": ("IsJson", "JsonMatch"),
    "evaluators.checks.numeric": ("Cost", "Latency", "Numeric"),
    "evaluators.checks.text": (
        "Contains",
        "EndsWith",
        "Equals",
        "IContains",
        "Regex",
        "StartsWith",
    ),
    "evaluators.checks.text_overlap": ("Bleu", "Chrf", "Rouge", "TokenF1"),
    "evaluators.code": ("CodeJudgeEvaluator",),
    "evaluators.cascade": ("Cascade",),
    "evaluators.composite": ("CompositeEvaluator", "jury"),
    "evaluators.field_accuracy": ("FieldAccuracy",),
    "evaluators.factory": ("EvaluatorResult", "FewShotExample"),
    "evaluators.checks.levenshtein": ("Levenshtein",),
    "evaluators.pairwise": ("PairwiseEvaluator",),
    "evaluators.prompt": ("PromptEvaluator",),
    "evaluators.group_ranking": ("GroupRankingEvaluator",),
    "evaluators.schema.evaluator": ("SchemaEvaluator",),
    "evaluators.profile_score": ("ProfileScoreEvaluator",),
    "models.resolve": ("resolve",),
    "models.replay": ("Scripted",),
    "labels.file": ("AddedLabels",),
    "profiles.audit.audit": ("Audit",),
    "profiles.ranking.result": ("RankedProfile",),
    "profiles.ranking.ranked_profiles": ("RankedProfiles",),
    "profiles.scored_profiles": ("ScoredProfiles",),
    "profiles.scores": ("ProfileScore",),
    "stats.false_discoveries": ("benjamini_hochberg",),
    "stats.paired": ("holm",),
    "stats.position_table": ("PositionTable", "position_table"),
    "stats.rater_agreement": ("Agreement", "agreement"),
    "trust.card": ("JudgeCard",),
    "trust.drift": ("DriftReport",),
    "trust.judge_panel": ("JudgesComparison",),
    "tuner.result": ("Tuning",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(["__version__", *_HOME_OF])  # noqa: PLE0605 - a list, whatever it is made of


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evenhand.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
