import type { Migration } from '@parley/postgres/database/types';

export const namesInSearch: Migration = {
  name: '011-names-in-search',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE knowledge_documents
        -- The generation whose passages were embedded together with embedded_name. All other generations were embedded without a name.
        ADD COLUMN named_generation integer NOT NULL DEFAULT 0,
        ADD COLUMN embedded_name text,
        -- Facts about prepared_generation: {generation, name, chunkCount}.
        ADD COLUMN prepared_facts jsonb;
      -- Whether all passages of the base are embedded together with the current names of their documents.
      ALTER TABLE knowledge_base_models ADD COLUMN is_current boolean NOT NULL DEFAULT false;

      -- Marks a base as outdated when a document is renamed, or stored by a version of the service that embeds no names.
      CREATE FUNCTION knowledge_document_outdated() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE knowledge_base_models SET is_current = false
         WHERE tenant_id = NEW.tenant_id AND knowledge_base_id = NEW.knowledge_base_id;
        RETURN NULL;
      END $$;
      CREATE TRIGGER knowledge_document_outdated AFTER INSERT OR UPDATE OF generation, file_name ON knowledge_documents
        FOR EACH ROW WHEN (NEW.generation > 0 AND NEW.deleted_at IS NULL
          AND (NEW.named_generation <> NEW.generation OR NEW.embedded_name IS DISTINCT FROM NEW.file_name))
        EXECUTE FUNCTION knowledge_document_outdated();

      -- Adds to the words between signs: the words of the document's name, and codes such as part numbers as one word without their signs.
      -- The body contains no question marks, because those would be parameters.
      CREATE OR REPLACE FUNCTION knowledge_chunk_words() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        source text := left(concat_ws(' ',
          (SELECT regexp_replace(file_name, '[.](txt|md|markdown|pdf|docx|xlsx|csv|html|htm)$', '', 'i') FROM knowledge_documents
            WHERE tenant_id = NEW.tenant_id AND id = NEW.document_id), NEW.heading, NEW.content), 20000);
        codes text := (SELECT string_agg(translate(code, '-_./‐‑–', ''), ' ')
          FROM (SELECT (regexp_matches(source, '([[:alnum:]]+([-_./‐‑–][[:alnum:]]+)+)', 'g'))[1] AS code) AS joined
         WHERE length(code) BETWEEN 5 AND 40 AND code ~ '[0-9]' AND code !~ '^[0-9.]+$');
      BEGIN
        NEW.search := to_tsvector('pg_catalog.simple',
          translate(concat_ws(' ', source, codes), '-_./@:+#<&~', '           '));
        RETURN NEW;
      END $$;
    `);
  },
};
