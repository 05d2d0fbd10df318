"""How far a judge can be trusted: its card, from labels by people on some of the answers that it judged."""
