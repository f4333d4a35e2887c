import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import { units } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { composeServices } from './compose-services.ts';

function checkoutWith(t: ExecutionContext, compose: string): string {
  const root = emptyFolder(t);
  const values =
    'defaults: { resources: { limits: { memory: 512Mi } } }\nunits: { parser: { resources: { limits: { memory: 2Gi } } } }';
  for (const [path, text] of [
    ['charts/parley/values.yaml', values],
    ['deploy/compose/compose.yaml', compose],
  ] as const) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test('a listed unit has a service with the ports, engines, addresses and memory that it declares', (t) => {
  const root = checkoutWith(t, 'services:\n  # <units, by scripts/generate>\n  old: {}\n  # </units>\n  redis: {}\n');
  const [parser] = units.filter(({ name }) => name === 'parser');
  const [file] = composeServices(root, parser ? [parser] : t.fail());
  t.is(
    file?.text,
    `services:
  # <units, by scripts/generate>
  parser:
    <<: *unit
    image: parley/parser:dev
    build: { context: ../.., dockerfile: deploy/docker/Dockerfile, args: { UNIT: parser } }
    mem_limit: 2g
    environment:
      <<: [*kafka, *s3]
      PARSER_OPS_PORT: 9464
      KNOWLEDGE_RPC_URL: knowledge:50051
  # </units>
  redis: {}
`,
  );
  const [{ text } = t.fail()] = composeServices(root, units);
  t.regex(text, /\n {2}gateway:\n(?: {4}.*\n)*? {4}ports: \["127\.0\.0\.1:/u);
  t.regex(text, /\n {2}identity:\n(?: {4}.*\n)*? {4}mem_limit: 512m\n/u);
});

test('a file without markers is an error', (t) => {
  const root = checkoutWith(t, 'services: {}\n');
  t.throws(() => composeServices(root, units), { message: /compose\.yaml has no place for the services of units/ });
});
