import test from 'ava';
import protobuf from 'protobufjs';
import { exampleRequest } from './example-request.ts';
import { requestFromJson } from './json-request.ts';
import { responseToJson } from './json-response.ts';
import { timestampOf, timestampText } from './timestamp.ts';
import { UsageError } from './usage-error.ts';

const proto = `
syntax = "proto3";
package test.v1;
import "google/protobuf/timestamp.proto";
enum Colour { COLOUR_UNSPECIFIED = 0; COLOUR_RED = 1; }
message Inner { int32 inner_id = 1; repeated Everything above = 2; }
message Everything {
  int32 tenant_id = 1;
  int64 cost_usd_e8 = 2;
  uint32 size = 3;
  string text = 4;
  bool is_new = 5;
  bytes hash = 6;
  double score = 7;
  Colour colour = 8;
  google.protobuf.Timestamp created_at = 9;
  repeated Inner inners = 10;
  map<string, google.protobuf.Timestamp> times = 11;
  optional string note = 12;
  oneof choice { int32 left = 13; int32 right = 14; }
  string metadata_json = 15;
}`;

const root = new protobuf.Root();
const common = protobuf.common.get('google/protobuf/timestamp.proto')?.nested ?? {};
root.addJSON(common);
protobuf.parse(proto, root);
root.resolveAll();
const everything = root.lookupType('test.v1.Everything');

/** What is left of a request after the wire, as an answer would show it. */
function echoed(json: object): object {
  const bytes = everything.encode(everything.fromObject(requestFromJson(everything, JSON.stringify(json)))).finish();
  return responseToJson(everything, everything.toObject(everything.decode(bytes), options));
}
const options = { longs: String, enums: String, bytes: String, defaults: true };

const whole = {
  tenantId: 7,
  costUsdE8: '9007199254740993',
  size: 4_294_967_295,
  text: 'été\u0001',
  isNew: true,
  hash: 'AP+/',
  score: 0.5,
  colour: 'COLOUR_RED',
  createdAt: '2026-01-31T12:00:00.001Z',
  inners: [{ innerId: -1, above: [] }],
  times: { first: '1969-12-31T23:59:59.999999999Z' },
  note: '',
  left: 0,
  metadataJson: '{}',
};

test('what JSON says arrives and comes back the same', (t) => {
  t.deepEqual(echoed(whole), whole);
});

test('an answer shows zeros, and nothing where nothing was sent', (t) => {
  t.deepEqual(echoed({}), {
    tenantId: 0,
    costUsdE8: '0',
    size: 0,
    text: '',
    isNew: false,
    hash: '',
    score: 0,
    colour: 'COLOUR_UNSPECIFIED',
    inners: [],
    times: {},
    metadataJson: '',
  });
});

test('names may be written as in the proto, whole numbers as text, and null is nothing', (t) => {
  const typed = { tenant_id: '7', cost_usd_e8: 5, created_at: '2026-01-31T13:00:00+01:00', note: null, left: null };
  t.like(echoed(typed), { tenantId: 7, costUsdE8: '5', createdAt: '2026-01-31T12:00:00.000Z' });
  t.false('note' in echoed(typed));
  t.like(echoed({ left: null, right: 2 }), { right: 2 });
});

test('everything that does not fit is named at once', (t) => {
  const wrong = {
    tenantId: 'abc',
    costUsdE8: 9_007_199_254_740_992,
    size: -1,
    text: 5,
    isNew: 'yes',
    hash: '~',
    score: '0.5',
    colour: 'toString',
    createdAt: 'yesterday',
    inners: [{ innerId: 1.5 }, 7],
    times: [],
    note: {},
    left: 2_147_483_648,
    right: 1,
    constructor: 1,
    unheardOf: 1,
  };
  const error = t.throws(() => requestFromJson(everything, JSON.stringify(wrong)), { instanceOf: UsageError });
  const named = (error?.message ?? '').split('\n').slice(1);
  t.deepEqual(
    named.map((line) => line.trim().split(' ')[0]),
    Object.keys(wrong).flatMap((path) => (path === 'inners' ? ['inners[0].innerId', 'inners[1]'] : [path])),
  );
});

test('what is no JSON object is refused', (t) => {
  for (const text of ['', '{', '[]', '7', 'null', '"x"']) {
    t.throws(() => requestFromJson(everything, text), { instanceOf: UsageError }, text);
  }
});

test('an example fits its own type, has one field of each choice and ends', (t) => {
  const example = exampleRequest(everything);
  t.notThrows(() => requestFromJson(everything, JSON.stringify(example)));
  const others = ['right'];
  t.deepEqual(
    Object.keys(example as object).toSorted(),
    Object.keys(everything.fields)
      .filter((name) => !others.includes(name))
      .toSorted(),
  );
  t.like(example, { inners: [{ innerId: 1 }], metadataJson: '{}', colour: 'COLOUR_RED' });
});

test('times keep every digit that they have', (t) => {
  for (const text of ['2026-01-31T12:00:00.000Z', '1969-12-31T23:59:59.000001Z', '0001-01-01T00:00:00.123456789Z']) {
    const time = timestampOf(text);
    t.is(time && timestampText(time), text);
  }
  t.deepEqual(timestampOf('1969-12-31T23:59:59.5Z'), { seconds: '-1', nanos: 500_000_000 });
  for (const text of ['2026-01-31', '2026-13-01T00:00:00Z', '2026-01-31T12:00:00', 5, null])
    t.is(timestampOf(text), undefined);
});
