import type { Migration } from '@parley/postgres/database/types';

export const wordsBetweenSigns: Migration = {
  name: '007-words-between-signs',
  async up(knex) {
    await knex.raw(`
      -- Changing the expression of a generated column would rewrite all chunks and their indexes under a lock. A trigger fills the column
      -- for new chunks.
      ALTER TABLE knowledge_chunks ALTER COLUMN search DROP EXPRESSION;
      -- The trigger always replaces this default, which lets rows be inserted without the column.
      ALTER TABLE knowledge_chunks ALTER COLUMN search SET DEFAULT '';
      -- Replaces signs that PostgreSQL reads as punctuation within a number or name, or as part of a tag, an entity or a path. Otherwise
      -- the words next to these signs would not be found, or would be parts of other words.
      CREATE FUNCTION knowledge_chunk_words() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.search := to_tsvector('pg_catalog.simple',
          translate(left(NEW.heading || ' ' || NEW.content, 20000), '-_./@:+#<&~', '           '));
        RETURN NEW;
      END $$;
      CREATE TRIGGER knowledge_chunk_words BEFORE INSERT OR UPDATE OF heading, content ON knowledge_chunks
        FOR EACH ROW EXECUTE FUNCTION knowledge_chunk_words();
    `);
  },
};
