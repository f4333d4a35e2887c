import test from 'ava';
import { GraphQLError } from 'graphql';
import { pino } from 'pino';
import { maskError } from './mask-error.ts';

function setup() {
  const lines: string[] = [];
  const mask = maskError(pino({}, { write: (line: string) => lines.push(line) }));
  return { mask: (formatted: Parameters<typeof mask>[0]) => mask(formatted, new GraphQLError('cause')), lines };
}

test("an error of the contract keeps its path and the contract's extensions only", (t) => {
  const { mask, lines } = setup();
  const fields = [{ path: 'name', message: 'is empty' }];
  const extensions = { code: 'BAD_REQUEST', statusCode: 400, reason: 'R', fields, details: { trace: [] } };
  const place = { path: ['a', 0], locations: [{ line: 1, column: 2 }] };
  t.deepEqual(mask({ message: 'no', ...place, extensions: { ...extensions, stack: 'secret', serviceName: 'agent' } }), {
    message: 'no',
    ...place,
    extensions,
  });
  t.is(lines.length, 0);
});

test("Apollo's codes for syntax and validation become 400", (t) => {
  const { mask } = setup();
  for (const code of ['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT', 'BAD_REQUEST']) {
    t.deepEqual(mask({ message: 'no', extensions: { code, query: 'secret' } }), {
      message: 'no',
      extensions: { code, statusCode: 400 },
    });
  }
});

test('everything else is logged and masked', (t) => {
  const { mask, lines } = setup();
  const unknown = [{}, { code: 'ECONNREFUSED' }, { code: 'INTERNAL_SERVER_ERROR' }, { code: 'NOT_FOUND' }, { code: 7 }];
  for (const extensions of unknown) {
    t.deepEqual(mask({ message: 'connect ECONNREFUSED 10.0.0.7', path: ['a'], extensions }), {
      message: 'Something went wrong on our side',
      path: ['a'],
      extensions: { code: 'INTERNAL', statusCode: 500 },
    });
  }
  t.is(lines.length, unknown.length);
});
