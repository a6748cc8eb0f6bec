-- +goose Up
-- Search and sorting by name fold both forms of a Cherokee letter to the capital
-- one, as Unicode says. Until now each was folded to the other, so that neither
-- was found by the other: what is stored is mended here, letter by letter.
-- A program of before goes on beside it: what it writes meanwhile with such
-- letters is found again once it is written anew.
INSERT INTO schema_compat (version, oldest) VALUES (8, 2);

UPDATE folders
SET name_folded = (
  WITH RECURSIVE mended(letter, text) AS (
    SELECT 0, folders.name_folded
    UNION ALL
    SELECT letter + 1, replace(text,
      char(CASE WHEN letter < 80 THEN 43888 + letter ELSE 5032 + letter END),
      char(5024 + letter))
    FROM mended
    WHERE letter < 86)
  SELECT text FROM mended WHERE letter = 86)
WHERE name_folded GLOB '*[ꭰ-ꮿᏸ-ᏽ]*';

UPDATE projects
SET name_folded = (
  WITH RECURSIVE mended(letter, text) AS (
    SELECT 0, projects.name_folded
    UNION ALL
    SELECT letter + 1, replace(text,
      char(CASE WHEN letter < 80 THEN 43888 + letter ELSE 5032 + letter END),
      char(5024 + letter))
    FROM mended
    WHERE letter < 86)
  SELECT text FROM mended WHERE letter = 86)
WHERE name_folded GLOB '*[ꭰ-ꮿᏸ-ᏽ]*';

UPDATE projects
SET description_folded = (
  WITH RECURSIVE mended(letter, text) AS (
    SELECT 0, projects.description_folded
    UNION ALL
    SELECT letter + 1, replace(text,
      char(CASE WHEN letter < 80 THEN 43888 + letter ELSE 5032 + letter END),
      char(5024 + letter))
    FROM mended
    WHERE letter < 86)
  SELECT text FROM mended WHERE letter = 86)
WHERE description_folded GLOB '*[ꭰ-ꮿᏸ-ᏽ]*';

UPDATE documents
SET title_folded = (
  WITH RECURSIVE mended(letter, text) AS (
    SELECT 0, documents.title_folded
    UNION ALL
    SELECT letter + 1, replace(text,
      char(CASE WHEN letter < 80 THEN 43888 + letter ELSE 5032 + letter END),
      char(5024 + letter))
    FROM mended
    WHERE letter < 86)
  SELECT text FROM mended WHERE letter = 86)
WHERE title_folded GLOB '*[ꭰ-ꮿᏸ-ᏽ]*';

UPDATE documents
SET description_folded = (
  WITH RECURSIVE mended(letter, text) AS (
    SELECT 0, documents.description_folded
    UNION ALL
    SELECT letter + 1, replace(text,
      char(CASE WHEN letter < 80 THEN 43888 + letter ELSE 5032 + letter END),
      char(5024 + letter))
    FROM mended
    WHERE letter < 86)
  SELECT text FROM mended WHERE letter = 86)
WHERE description_folded GLOB '*[ꭰ-ꮿᏸ-ᏽ]*';

-- Whoever has the address of another, but for such letters, keeps the old form.
UPDATE OR IGNORE users
SET email_folded = (
  WITH RECURSIVE mended(letter, text) AS (
    SELECT 0, users.email_folded
    UNION ALL
    SELECT letter + 1, replace(text,
      char(CASE WHEN letter < 80 THEN 43888 + letter ELSE 5032 + letter END),
      char(5024 + letter))
    FROM mended
    WHERE letter < 86)
  SELECT text FROM mended WHERE letter = 86)
WHERE email_folded GLOB '*[ꭰ-ꮿᏸ-ᏽ]*';
