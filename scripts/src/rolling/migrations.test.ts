import type { Migration, SchemaDeclaration } from '@parley/postgres/database/types';
import { testDatabaseUrl } from '@parley/testing/test-database';
import { testSchema } from '@parley/testing/test-schema';
import { schemas } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import type { Step } from './merged-migrations.ts';
import { earlierMerged, forgotten, problemsOf, readMerged, unlisted, withNew } from './merged-migrations.ts';
import { observe, observeMigrations } from './observe-migrations.ts';

const sql = (name: string, statements: string, rest: Partial<Migration> = {}): Migration => ({
  name,
  ...rest,
  async up(knex) {
    await knex.raw(statements);
  },
});

const pets = sql(
  '001-pets',
  `CREATE TABLE pets (
     id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id integer NOT NULL, name varchar(20) NOT NULL,
     species text CHECK (species IN ('CAT', 'DOG')), weight numeric(8, 2), age integer, born text NOT NULL DEFAULT '',
     UNIQUE (tenant_id, id), UNIQUE (tenant_id, name));
   CREATE TABLE visits (
     tenant_id integer NOT NULL, pet_id integer NOT NULL, CONSTRAINT of_pet
     FOREIGN KEY (tenant_id, pet_id) REFERENCES pets (tenant_id, id) ON DELETE CASCADE);
   CREATE INDEX pets_age ON pets (age);
   CREATE TYPE mood AS ENUM ('GLAD', 'SAD');
   CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql AS 'SELECT 2 * n'`,
);

/** Returns the observed effects of migrations that run after the migration `pets`. */
async function seen(t: ExecutionContext, migrations: Migration[]): Promise<Step[]> {
  const declared: SchemaDeclaration = {
    name: 'pets',
    tables: { pets: 'tenant', visits: 'tenant' },
    migrations: [pets, ...migrations],
  };
  const { schemaName } = await testSchema(t, declared, { migrate: false });
  const steps = await observeMigrations(await testDatabaseUrl(), declared, schemaName);
  return steps.filter(({ name }) => !name.startsWith('chassis/'));
}

test('the migrations of all services are listed, unedited, and compatible with the previous version', async (t) => {
  const url = await testDatabaseUrl();
  const steps: Step[] = [];
  for (const schema of schemas) {
    const { schemaName } = await testSchema(t, schema, { migrate: false });
    steps.push(...(await observeMigrations(url, schema, schemaName)));
  }

  t.deepEqual(problemsOf(steps, readMerged()), []);
  t.deepEqual(forgotten(earlierMerged(Boolean(process.env['CI'])) ?? {}, readMerged()), []);
});

test('a migration without an entry is reported before a database is used', (t) => {
  const chassis = { name: 'chassis', migrations: [sql('chassis/001-outbox', '')] };
  const declared = { name: 'pets', migrations: [pets, sql('002-visits', '')] };
  t.deepEqual(unlisted([chassis, declared], { 'chassis/001-outbox': 'x', 'pets/001-pets': 'x' }), ['pets/002-visits']);
  t.deepEqual(unlisted([{ name: 'toys', migrations: [pets] }], { 'pets/001-pets': 'x' }), ['toys/001-pets']);
});

const refused: [statements: string, loss: string][] = [
  ['DROP TABLE visits', 'table visits is dropped'],
  ['ALTER TABLE visits RENAME TO stays', 'table visits is renamed to stays'],
  ['ALTER TABLE pets DROP COLUMN age', 'column pets.age is dropped'],
  ['ALTER TABLE pets DROP COLUMN age; ALTER TABLE pets ADD COLUMN age integer', 'column pets.age is dropped'],
  ['ALTER TABLE pets RENAME COLUMN age TO years', 'column pets.age is renamed to years'],
  ['ALTER TABLE pets ALTER COLUMN age TYPE bigint', 'column pets.age changes from integer to bigint'],
  [
    'ALTER TABLE pets ALTER COLUMN name TYPE varchar(9)',
    'column pets.name changes from character varying(20) to character varying(9)',
  ],
  [
    'ALTER TABLE pets ALTER COLUMN weight TYPE numeric(8, 1)',
    'column pets.weight changes from numeric(8,2) to numeric(8,1)',
  ],
  ['ALTER TABLE pets ALTER COLUMN age SET NOT NULL', 'column pets.age becomes NOT NULL'],
  ['ALTER TABLE pets ADD COLUMN owner text NOT NULL', 'column pets.owner is new, NOT NULL and without a default'],
  ['ALTER TABLE pets ALTER COLUMN born DROP DEFAULT', 'column pets.born is NOT NULL and loses its default'],
  ['ALTER TABLE pets ALTER COLUMN id DROP IDENTITY', 'column pets.id is NOT NULL and loses its default'],
  [
    'ALTER TABLE pets DROP CONSTRAINT pets_tenant_id_name_key',
    'unique pets_tenant_id_name_key of pets is dropped or changed',
  ],
  ['ALTER TABLE visits DROP CONSTRAINT of_pet', 'foreign key of_pet of visits is dropped or changed'],
  ['CREATE UNIQUE INDEX one ON pets (age)', 'unique one of pets is new, and may refuse what is written today'],
  [
    'ALTER TABLE pets ADD CONSTRAINT old CHECK (age > 1)',
    'check old of pets is new, and may refuse what is written today',
  ],
  [
    `ALTER TABLE pets DROP CONSTRAINT pets_species_check, ADD CONSTRAINT few CHECK (species IN ('CAT', 'OWL'))`,
    'check few of pets is new, and may refuse what is written today',
  ],
  ["ALTER TYPE mood RENAME VALUE 'SAD' TO 'BLUE'", 'value mood: SAD is dropped or changed'],
  ['DROP FUNCTION twice', 'function twice(n integer) → integer is dropped or changed'],
  ['DELETE FROM pets WHERE age > 90', 'rows of pets are deleted'],
  ['TRUNCATE TABLE visits', 'rows of visits are deleted'],
];

/** Statements that only add objects, or allow more values. */
const more = `
    CREATE TABLE notes (tenant_id integer NOT NULL, text text NOT NULL UNIQUE CHECK (text <> ''));
    ALTER TABLE pets ADD COLUMN owner text, ADD COLUMN tame boolean NOT NULL DEFAULT true,
                     ADD COLUMN chip text UNIQUE, ADD COLUMN size integer CHECK (size > 0),
                     ALTER COLUMN name TYPE varchar(40), ALTER COLUMN weight TYPE numeric(10, 2),
                     ALTER COLUMN born DROP NOT NULL, ALTER COLUMN age SET DEFAULT 0,
                     DROP CONSTRAINT pets_species_check, ADD CHECK (species IN ('CAT', 'DOG', 'OWL'));
    ALTER TABLE pets ALTER COLUMN name TYPE text;
    DROP INDEX pets_age;
    CREATE INDEX pets_weight ON pets (weight);
    ALTER TYPE mood ADD VALUE 'CALM';
    UPDATE pets SET age = 1 -- nobody is to delete from pets`;

test('changes that break reads or writes are refused; changes that only add, or allow more, are accepted', async (t) => {
  const found: Record<string, string[]> = {};
  await seen(t, [
    {
      name: '002-each-alone',
      async up(knex) {
        for (const statements of [...refused.map(([each]) => each), more]) {
          const alone = await knex.transaction();
          found[statements] = (await observe('pets', sql('003', statements), alone)).losses;
          await alone.rollback();
        }
      },
    },
  ]);

  t.deepEqual(found, Object.fromEntries([...refused.map(([each, loss]) => [each, [loss]]), [more, []]]));
});

test('only a step that removes something names the release that stopped needing it', async (t) => {
  const drop = 'ALTER TABLE pets DROP COLUMN age';
  const problems = async (...migrations: Migration[]) => {
    const steps = await seen(t, migrations);
    return problemsOf(steps, withNew(steps, {}));
  };

  t.deepEqual(await problems(sql('002-age', drop, { contracts: 'Not read since 1.4' })), []);
  t.regex((await problems(sql('002-age', drop))).join('\n'), /^pets\/002-age: column pets\.age is dropped; /u);
  t.regex((await problems(sql('002-age', drop, { contracts: ' ' }))).join('\n'), /column pets\.age is dropped/u);
  t.deepEqual(await problems(sql('002-note', 'SELECT 1', { contracts: 'Not read since 1.4' })), [
    'pets/002-note says what it contracts, and takes nothing away',
  ]);
});

test('a merged migration may not be edited, moved or removed, except for comments and layout', async (t) => {
  const [one, two] = [
    sql('002-one', 'CREATE INDEX one ON pets (age)'),
    sql('003-two', 'CREATE INDEX two ON pets (age)'),
  ];
  const merged = withNew(await seen(t, [one, two]), {});
  const problems = async (...migrations: Migration[]) => problemsOf(await seen(t, migrations), merged);

  t.deepEqual(await problems(sql('002-one', 'CREATE INDEX one\n  ON pets (age) -- by age'), two), []);
  t.deepEqual(await problems(sql('002-one', 'CREATE INDEX one ON pets (weight)'), two), [
    'pets/002-one was merged and has been edited: add another instead',
  ]);
  const order =
    'pets has its merged migrations first, all and in this order: pets/001-pets, pets/002-one, pets/003-two';
  t.deepEqual(await problems(two, one), [order]);
  t.deepEqual(await problems(one), [order]);
  t.deepEqual(await problems(one, two, sql('004-three', 'SELECT 1')), [
    'pets/004-three is not in the list of migrations: run scripts/migrate --list',
  ]);
  t.true((await problems(one, sql('002-half', 'SELECT 1'), two)).includes(order));
});

test('statements that knex builds, and their values, may not be edited either', async (t) => {
  const insert = (name: string): Migration => ({
    name: '002-ada',
    async up(knex) {
      await knex.raw('ALTER TABLE pets NO FORCE ROW LEVEL SECURITY');
      await knex('pets').insert({ tenant_id: 1, name });
    },
  });
  const hash = async (name: string) => (await seen(t, [insert(name)])).at(-1)?.hash;

  t.not(await hash('Ada'), await hash('Bea'));
  t.is(await hash('Ada'), await hash('Ada'));
});

test('an entry of the list on main may not be changed or removed', (t) => {
  const earlier = { 'pets/001': 'a', 'pets/002': 'b', 'pets/003': 'c' };

  t.deepEqual(forgotten(earlier, { ...earlier, 'pets/004': 'd' }), []);
  t.deepEqual(
    forgotten(earlier, { 'pets/001': 'a', 'pets/002': 'x' }).map((each) => each.split(' ')[0]),
    ['pets/002', 'pets/003'],
  );
});

test('new entries follow those of their owner, which keep their hashes', (t) => {
  const step = (name: string): Step => ({ name, hash: 'new', contracts: undefined, losses: [] });

  t.deepEqual(Object.entries(withNew([step('b/1'), step('b/2'), step('a/1')], { 'b/1': 'old' })), [
    ['a/1', 'new'],
    ['b/1', 'old'],
    ['b/2', 'new'],
  ]);
});
