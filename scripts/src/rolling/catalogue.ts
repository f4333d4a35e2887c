import type { Knex } from 'knex';

/** A column. Its `number` stays the same when the column is renamed. */
export interface Column {
  number: number;
  name: string;
  type: string;
  notNull: boolean;
  /** Whether an INSERT without the column sets a value: by a default, as an identity or as a generated column. */
  filled: boolean;
}

/** A constraint or unique index of a table. */
export interface Rule {
  name: string;
  kind: 'check' | 'foreign key' | 'exclusion' | 'unique';
  /** The numbers of the columns in the rule. */
  columns: number[];
  /** The definition without the rule's name. */
  definition: string;
  /** Whether a foreign key deletes or changes rows when the referenced row is deleted. */
  acts: boolean;
}

/** A table or view, whose `oid` stays the same after a rename. */
export interface Relation {
  oid: number;
  name: string;
  columns: Column[];
  rules: Rule[];
}

/** The objects of a schema that queries depend on. */
export interface Catalogue {
  relations: Relation[];
  /** Functions with their argument types, and values of enums. */
  others: string[];
}

/** Reads the first schema of the search path. */
export async function readCatalogue(knex: Knex.Transaction): Promise<Catalogue> {
  const rows = async <T>(sql: string): Promise<T[]> => (await knex.raw(sql)).rows;
  const relations = await rows<{ oid: number; name: string }>(`
    SELECT oid::int8::int AS oid, relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition
    ORDER BY relname`);
  const columns = await rows<Column & { relation: number }>(`
    SELECT a.attrelid::int8::int AS relation, a.attnum AS number, a.attname AS name,
           format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS "notNull",
           a.atthasdef OR a.attidentity <> '' AS filled
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`);
  // Primary keys and unique constraints are unique indexes, too; ON CONFLICT finds an index by its columns, not by its name.
  const rules = await rows<Rule & { relation: number }>(`
    SELECT conrelid::int8::int AS relation, conname AS name, coalesce(to_json(conkey), '[]') AS columns,
           CASE contype WHEN 'c' THEN 'check' WHEN 'f' THEN 'foreign key' ELSE 'exclusion' END AS kind,
           pg_get_constraintdef(oid) AS definition, confdeltype IN ('c', 'n', 'd') OR confupdtype IN ('c', 'n', 'd') AS acts
    FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND conrelid <> 0 AND contype IN ('c', 'f', 'x')
    UNION ALL
    SELECT i.indrelid::int8::int, c.relname, array_to_json(string_to_array(i.indkey::text, ' ')::int[]), 'unique',
           concat_ws(' ', i.indkey, pg_get_expr(i.indexprs, i.indrelid), 'where', pg_get_expr(i.indpred, i.indrelid),
                     to_jsonb(i) -> 'indnullsnotdistinct', i.indcollation, i.indclass), false
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND i.indisunique AND NOT i.indisexclusion`);
  const others = await rows<{ other: string }>(`
    SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(oid) || ') → '
             || coalesce(pg_get_function_result(oid), '') AS other
    FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    UNION ALL
    SELECT 'value ' || t.typname || ': ' || e.enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
    WHERE t.typnamespace = current_schema()::regnamespace`);

  const of = <T extends { relation: number }>(oid: number, all: T[]) => all.filter(({ relation }) => relation === oid);
  return {
    relations: relations.map((each) => ({ ...each, columns: of(each.oid, columns), rules: of(each.oid, rules) })),
    others: others.map(({ other }) => other),
  };
}
