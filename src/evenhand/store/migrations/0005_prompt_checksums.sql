-- Versions of prompts and test cases carry a checksum, too; those of before have none.

ALTER TABLE prompt_versions ADD COLUMN checksum TEXT;
ALTER TABLE test_cases ADD COLUMN checksum TEXT;
