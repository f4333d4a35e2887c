import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkOperationNames } from './check.ts';

const operations = new Map([
  ['Mutation.enter', 'room'],
  ['Mutation.leave', 'door'],
  ['Query.room', 'room'],
  ['Query.rooms', undefined],
]);
const names = { operations, services: ['room', 'door'] };

/** Returns the check's report about a file with this text. */
function check(t: ExecutionContext, text: string, file = 'file.ts'): string[] {
  const root = mkdtempSync(join(tmpdir(), 'parley-operation-names-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
  return checkOperationNames(root, [file], names);
}

/** Returns the names that the check finds in a file with this text. */
function found(t: ExecutionContext, text: string): string[] {
  return check(t, text).map((line) => line.replace(/^file\.ts:\d+ names '(.*?)'.*/u, '$1'));
}

const refused: [what: string, text: string, name: string][] = [
  ['a list', "export const long = ['enter'];", 'enter'],
  ['a set', "const open = new Set<string>(['other', `enter`]);", 'enter'],
  ['a list in one text', "const open = 'leave rooms'.split(' ');", 'leave'],
  ['a list with other separators', "const open = 'enter|leave'.split('|');", 'enter'],
  ['a map', "const rules = new Map([['Mutation.enter', 1]]);", 'Mutation.enter'],
  ['keys of rules', "const rules = { 'Mutation.enter': 1 };", 'Mutation.enter'],
  ['bare keys of rules', "const needed = { enter: ['id'], 'leave': [] };", 'leave'],
  ['keys in more than one', 'const rules = { needed: [{ enter }] } as const;', 'enter'],
  ['a name with the path of an argument', "const known = open.get('enter input.name');", 'enter'],
  ['keys with the path of an argument', "const needed = { 'enter input.name': 1, 'leave input.id': 2 };", 'leave'],
  ['a comparison', "if (field.name === 'enter') throw new Error();", 'enter'],
  ['a comparison the other way', "const not = ('enter' as string) != name;", 'enter'],
  ['a switch', "switch (name) { case 'enter': break; }", 'enter'],
  ['a lookup', "const has = body.includes('enter');", 'enter'],
  ['the end of a text', "const has = body.endsWith('enter');", 'enter'],
  ['a key that is looked for', "const has = 'enter' in body;", 'enter'],
  ['a constant', "const special = 'enter';", 'enter'],
  ['an argument', "const rule = ruleFor('enter');", 'enter'],
  ['a value', "start({ special: 'enter' });", 'enter'],
  ['a path that is none of an answer', "start({ path: 'enter' });", 'enter'],
  ['alternatives of a regular expression', 'const is = /^(enter|leave)$/u.test(name);', 'enter'],
  ['a whole name', 'const is = /^enter\\b/u.test(name);', 'enter'],
  ['an operation that a unit is called like', "rules.get('Query.room');", 'Query.room'],
  ['code beside using', "{ using x = open(); if (x.name === 'enter') x.close(); }", 'enter'],
];

for (const [what, text, name] of refused) {
  test(`found: ${what}`, (t) => {
    t.true(found(t, text).includes(name), found(t, text).join('\n'));
  });
}

const allowed: Record<string, string> = {
  'a resolver': 'export const resolvers = { Mutation: { enter: () => true, leave() {} } };',
  'a document': "await ask('mutation { enter { id } leave }');",
  'what is read of an answer': "const { id } = answer.data?.['enter'];",
  'a function for each operation': 'const calls = { enter: (ada) => ada.enter(), async leave() {} };',
  'what is expected of an answer': 't.deepEqual(answer.data, { enter: { id: 1 }, leave: true });',
  'the path of an error': "t.like(error, { path: ['enter'] }); t.like(error, { path: ['rooms', 0, 'id'] });",
  'a type': "type Entered = Answer<'enter'>; let one: Pick<Mutations, 'enter' | 'leave'>;",
  'a text that has it': 't.regex(log, /enter/u); t.regex(log, /operation="enter"|"leave"/u);',
  'a table of that name': "knex('rooms').where({ id }); db.knex<Room>('rooms'); const rooms = table('rooms', {});",
  'a unit of that name': "if (unit === 'room') start(['room', 'session']);",
  'prose that has the word': "test('who may enter and leave', () => undefined);",
};

for (const [what, text] of Object.entries(allowed)) test(`allowed: ${what}`, (t) => t.deepEqual(found(t, text), []));

test('a comment with a reason allows only the operation that it names', (t) => {
  const text = "// allow-name enter: the log line says it.\nconst names = ['enter', 'leave'];";
  t.deepEqual(found(t, text), ['leave']);
  t.is(found(t, text.replace(' the log line says it.', '')).length, 2, 'without a reason');
});

test('each name is reported with its lines and the remedy', (t) => {
  const text =
    "// Où\n\nif (name === 'enter') stop();\nconst rules = {\n  leave: 1,\n};\nexport const is = /^enter$/;\n";
  const advice = (name: string) =>
    `let the schema say what the operation needs; where it means something else, add // allow-name ${name}: <what>`;
  for (let times = 0; times < 2; times += 1) {
    t.deepEqual(check(t, text), [
      `file.ts:3 names 'enter' (lines 3, 7); ${advice('enter')}`,
      `file.ts:4 names 'leave'; ${advice('leave')}`,
    ]);
  }
});

test("names of other services' operations are ordinary words in a service", (t) => {
  const text = "const listed = ['enter', 'leave', 'rooms'];\nrules.get('Mutation.leave');";
  const [ofRoom, ofDoor, ofGateway] = ['services/room/src/a.ts', 'services/door/test/a.ts', 'gateway/src/a.ts'].map(
    (file) => check(t, text, file).map((line) => line.replace(/.* names '(.*?)'.*/u, '$1')),
  );
  t.deepEqual(ofRoom, ['enter', 'rooms', 'Mutation.leave']);
  t.deepEqual(ofDoor, ['leave', 'rooms', 'Mutation.leave']);
  t.deepEqual(ofGateway, ['enter', 'leave', 'rooms', 'Mutation.leave']);
});
