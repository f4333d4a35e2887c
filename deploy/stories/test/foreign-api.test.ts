import type { ScriptedToolCall } from '@parley/testing/model-answer';
import test from 'ava';
import { createAction, outboundCallsOf } from '../src/actions.ts';
import { converse, sendMessage } from '../src/conversation.ts';
import { galaxyActions, galaxyServer } from '../src/galaxy.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const planet = { id: 1, name: 'Mars', type: 'terrestrial', physicalProperties: { mass: 0.107 }, tags: ['röd', '红'] };

/** One call of each operation, with the status that is expected. Requests and responses are validated against the API description. */
const calls: [name: string, given: Record<string, unknown>, status: number][] = [
  ['getToken', { email: 'marc@example.com', password: 'canary-password' }, 201],
  ['createUser', { name: 'Marc', email: 'marc@example.com', password: 'canary-password' }, 201],
  ['getMe', {}, 200],
  ['createPlanet', planet, 201],
  ['getAllData', { limit: 2, offset: 0 }, 200],
  ['getPlanet', { planetId: 1 }, 200],
  ['updatePlanet', { planetId: 1, ...planet }, 200],
  ['deletePlanet', { planetId: 1 }, 204],
];

story(
  "an agent calls a third-party REST API with actions that were created from the API's own description",
  async (t, mesh) => {
    const ada = await mesh.person();
    const galaxy = await galaxyServer(t);
    const described = galaxyActions(galaxy.url);
    const tools: { actionId: number }[] = [];
    for (const each of described)
      tools.push({ actionId: await createAction(ada, { ...each, bearerToken: 'canary-galaxy' }) });
    const [open] = described.filter(({ name }) => name === 'getMe');
    tools.push({ actionId: await createAction(ada, { ...open, name: 'getMeWithoutToken' }) });

    const wrong: ScriptedToolCall[] = [
      { name: 'getPlanet', arguments: {} },
      { name: 'getPlanet', arguments: { planetId: '../me' } },
      { name: 'getAllData', arguments: { limit: 'two' } },
      { name: 'createPlanet', arguments: { id: 1, name: 'Mars', type: 'cube' } },
      { name: 'getMeWithoutToken' },
    ];
    let results: string[] = [];
    mesh.model.answer('Show me the galaxy.', (sent) => {
      results = sent.results.map(({ text }) => text);
      if (results.length === 0) return { toolCalls: wrong };
      if (results.length > wrong.length) return { text: 'That is all.' };
      return { toolCalls: calls.map(([name, given]) => ({ name, arguments: given })) };
    });
    const { sessionId, events } = await converse(t, ada, { tools });
    await sendMessage(ada, sessionId, 'Show me the galaxy.');
    const [reply] = await events.turns(1);
    if (reply?.__typename !== 'AiResponseEvent') return t.fail(JSON.stringify(reply));
    t.is(reply.text, 'That is all.');

    const kinds = reply.message.toolCalls?.map(({ name, errorKind }) => [name, errorKind]);
    t.deepEqual(kinds, [
      ...wrong.slice(0, -1).map(({ name }) => [name, 'ARGUMENTS_REFUSED']),
      ['getMeWithoutToken', 'HTTP_STATUS'],
      ...calls.map(([name]) => [name, null]),
    ]);
    t.regex(results[0] ?? '', /args\.planetId/u);
    t.regex(results[3] ?? '', /args\.type/u);
    t.regex(results[4] ?? '', /HTTP status 401/u);
    for (const [at, [name, , status]] of calls.entries()) {
      const result = results[wrong.length + at] ?? '';
      t.regex(result, new RegExp(`result of the tool "${name}"[^]*HTTP status ${status}`, 'u'));
    }
    t.true(
      results[wrong.length + 4]?.includes('"habitabilityIndex":0.68'),
      'the answer is what the description has as an example',
    );

    const seen = galaxy.requests.map(({ operationId, method, path }) => `${operationId} ${method} ${path}`);
    t.deepEqual(seen.toSorted(), [
      'createPlanet POST /planets',
      'createUser POST /user/signup',
      'deletePlanet DELETE /planets/1',
      'getAllData GET /planets',
      'getMe GET /me',
      'getPlanet GET /planets/1',
      'getToken POST /auth/token',
      'updatePlanet PUT /planets/1',
    ]);
    t.true(galaxy.requests.every(({ authorization }) => authorization === 'Bearer canary-galaxy'));
    const log = await outboundCallsOf(ada);
    // The log includes the call without a credential. Calls that the client refused to send are not in the log.
    const statuses = log.flatMap(({ status }) => status ?? []);
    const expected = [...calls.map(([, , status]) => status), 401];
    t.deepEqual(
      statuses.toSorted((a, b) => a - b),
      expected.toSorted((a, b) => a - b),
    );
    t.is(log.length, calls.length + wrong.length);
    t.notRegex(JSON.stringify([events.all, log]), /canary/u);
  },
);
