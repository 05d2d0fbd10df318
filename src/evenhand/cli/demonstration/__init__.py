"""The suite of `evenhand demo`, and what the model said of it when it was recorded."""
