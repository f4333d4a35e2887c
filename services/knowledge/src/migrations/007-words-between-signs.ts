import type { Migration } from '@parley/postgres/database/types';

export const wordsBetweenSigns: Migration = {
  name: '007-words-between-signs',
  async up(knex) {
    await knex.raw(`
      -- Another expression of a generated column would rewrite all chunks, with their indexes, under a lock. A trigger does for new ones.
      ALTER TABLE knowledge_chunks ALTER COLUMN search DROP EXPRESSION;
      -- Never seen: says that rows may be inserted without it.
      ALTER TABLE knowledge_chunks ALTER COLUMN search SET DEFAULT '';
      -- Without what PostgreSQL takes for punctuation within a number or name, or for a tag, an entity or a path: the words of those would not
      -- be found, or be parts of others.
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
