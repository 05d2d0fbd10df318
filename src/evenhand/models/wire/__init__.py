"""HTTP as far as asking a model needs it: one POST, one response read whole, over connections that are kept."""
