import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkOperationNames } from './check.ts';

const names = { operations: ['Mutation.enter', 'Mutation.leave', 'Query.room', 'Query.rooms'], alsoOther: ['room'] };

/** What is found in a file of this text, as the name and how it is used. */
function found(t: ExecutionContext, text: string): string[] {
  const root = mkdtempSync(join(tmpdir(), 'parley-operation-names-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'file.ts'), text);
  return checkOperationNames(root, ['file.ts'], names).map((line) => line.replace(/^file\.ts: (.*);.*/u, '$1'));
}

const refused: [what: string, text: string, line: string][] = [
  ['a list', "export const long = ['enter'];", "'enter' in a list"],
  ['a set', "const open = new Set<string>(['other', `enter`]);", "'enter' in a list"],
  ['a list in one text', "const open = 'leave rooms'.split(' ');", "'leave' in a list"],
  ['a map', "const rules = new Map([['Mutation.enter', 1]]);", "'Mutation.enter' in a list"],
  ['keys of rules', "const rules = { 'Mutation.enter': 1 };", "'Mutation.enter' as a key of rules"],
  ['a comparison', "if (field.name === 'enter') throw new Error();", "'enter' in a comparison"],
  ['a comparison the other way', "const not = ('enter' as string) != name;", "'enter' in a comparison"],
  ['a switch', "switch (name) { case 'enter': break; }", "'enter' in a comparison"],
  ['a lookup', "const has = body.includes('enter');", "'enter' in a lookup"],
  ['an operation that a unit is called like', "rules.get('Query.room');", "'Query.room' in a lookup"],
  ['code beside using', "{ using x = open(); if (x.name === 'enter') x.close(); }", "'enter' in a comparison"],
];

for (const [what, text, line] of refused) {
  test(`found: ${what}`, (t) => {
    t.true(found(t, text).includes(line), found(t, text).join('\n'));
  });
}

const allowed: Record<string, string> = {
  'a resolver': 'export const resolvers = { Mutation: { enter: () => true, leave() {} } };',
  'a document': "await ask('mutation { enter { id } leave }');",
  'what is read of an answer': "const { id } = answer.data?.['enter'];",
  'a table of that name': "knex('rooms').where({ id });",
  'a unit of that name': "if (unit === 'room') start(['room', 'session']);",
  'prose that has the word': "test('who may enter and leave', () => undefined);",
};

for (const [what, text] of Object.entries(allowed)) test(`allowed: ${what}`, (t) => t.deepEqual(found(t, text), []));

test('a comment with a reason allows the operation that it names, and no other', (t) => {
  const text = "// names enter: the log line says it.\nconst names = ['enter', 'leave'];";
  t.deepEqual(found(t, text), ["'leave' in a list"]);
  t.is(found(t, text.replace(' the log line says it.', '')).length, 2, 'without a reason');
});
