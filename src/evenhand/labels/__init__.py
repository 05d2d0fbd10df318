"""Labels by people: which answers they are to label, the files they fill in, and what they said."""
