import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import { documents } from '@parley/stories/embed';
import { Client as Database } from 'pg';
import { askWithKey, type KeyHolder } from './client.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { onServers } from './on-servers.ts';
import { type BenchOptions, limits, openPlace } from './processes.ts';

const trustedProxy = { TRUSTED_PROXIES: '127.0.0.1/32' };
const start = 'mutation ($input: SdkStartInput!) { sdkStart(input: $input) { sessionId avatarToken } }';
const messagesOfSession = 100;
const sessionsOfCustomer = 10;

/**
 * Measures, in the mesh on real servers, how fast embedded sessions start. Then stores a million messages, and measures how fast customers
 * are found.
 */
export function embeddedFigures(options: BenchOptions): Promise<Figure[]> {
  return onServers('embedded', options, async (servers) => {
    const { say, short } = options;
    await using place = await openPlace(options);
    await using mesh = await place.start({ ...servers.env, ...limits, ...trustedProxy }, '--mesh');
    const gateway = mesh.urls[0] ?? '';
    const owner = new Client(gateway);
    await owner.register();
    const agentId = await createAgent(owner);
    const { apiKey = '' } = await owner.withApiKey();
    const key = { url: gateway, apiKey };
    const { id: tenantId } = await owner.value<{ id: number }>('{ myTenant { id } }');
    const starts = await startFigures(options, key, agentId);

    const customers = short ? 2 : 1_000;
    const sessions = customers * sessionsOfCustomer;
    say(`${2 * sessions * messagesOfSession} messages`);
    const url = servers.superuserUrl ?? '';
    await fill(url, { tenantId, agentId, sessions, customer: `'customer ' || n % ${customers}` });
    await fill(url, { tenantId, agentId, sessions, customer: "'all of them'" });
    const next = nextOf(customers);
    return [
      ...starts,
      ...(await lookUpFigures(options, key, 'a customer', next)),
      ...(await lookUpFigures(options, key, 'the customer with half of all', () => 'all of them')),
    ];
  });
}

let clients = 0;
/** Returns a new IP address for each call, because the measured operations are throttled by address. */
function nextAddress(): string {
  clients += 1;
  return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
}

/** Measures starts of sessions with an agent and with a persona, while earlier sessions produce their greetings. */
async function startFigures({ rounds, short, say }: BenchOptions, key: KeyHolder, agentId: number): Promise<Figure[]> {
  say(`sdkStart, ${rounds} rounds`);
  const calls = short ? 4 : 320;
  const persona = { personaPrompt: 'You are Max, a clerk of a lamp shop.', agentName: 'Max', position: 'Clerk' };
  async function started(input: object, count: number) {
    const begunAt = performance.now();
    const each = () => askWithKey(key, nextAddress(), start, { input });
    const times = (await atOnce(count, () => oneByOne(Math.ceil(calls / count), each))).flat();
    return { times, rate: (times.length * 1_000) / (performance.now() - begunAt) };
  }
  await started({ agentId }, 16); // warm-up
  const figures: Figure[] = [];
  for (const [what, input] of [
    ['an agent', { agentId }],
    ['a persona', persona],
  ] as const) {
    for (const count of [1, 16]) {
      const all = await oneByOne(rounds, () => started(input, count));
      const name = `sdkStart of ${what}, ${count} at once`;
      figures.push(
        figure(
          `${name}, p50`,
          medianOf(all, ({ times }) => quantile(times, 0.5)),
          'ms',
        ),
        figure(
          name,
          medianOf(all, ({ rate }) => rate),
          '/s',
        ),
      );
    }
  }
  return figures;
}

interface Rows {
  tenantId: number;
  agentId: number;
  sessions: number;
  /** An SQL expression for the customer's name; `n` is the session's number. */
  customer: string;
}

/** Inserts ended sessions of customers, all with the same number of messages. Every other message has a cost. */
async function fill(url: string, { tenantId, agentId, sessions, customer }: Rows): Promise<void> {
  const database = new Database({ connectionString: url });
  await database.connect();
  try {
    await database.query('SET search_path TO session, public');
    const { rows } = await database.query<{ last: number }>('SELECT coalesce(max(id), 0) AS last FROM sessions');
    const last = rows[0]?.last ?? 0;
    await database.query(
      `WITH sessions AS (
         INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, next_turn_index, started_at, ended_at)
         SELECT cast($1 AS integer), cast($2 AS integer), 'ENDED', ${customer}, cast($4 AS integer), parley_now(), parley_now()
           FROM generate_series(1, cast($3 AS integer)) AS n RETURNING tenant_id, id
       )
       INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, tokens_in, tokens_out, cost_usd,
                             token_estimate)
       SELECT tenant_id, id, CASE WHEN at % 2 = 0 THEN 'USER' ELSE 'MODEL' END, repeat('What is a lease? ', 6), at, at / 2 * 2,
              (at % 2) * 200, (at % 2) * 25, (at % 2) * 0.0004, 25
         FROM sessions, generate_series(0, cast($4 AS integer) - 1) AS at`,
      [tenantId, agentId, sessions, messagesOfSession],
    );
    // Stores the same totals that the end of a session stores.
    await database.query(
      `UPDATE sessions SET (tokens_in, tokens_out, cost_usd) = (
         SELECT sum(tokens_in), sum(tokens_out), sum(cost_usd) FROM messages
          WHERE messages.tenant_id = $1 AND session_id = sessions.id AND role = 'MODEL') WHERE id > $2`,
      [tenantId, last],
    );
    await database.query('VACUUM ANALYZE sessions');
    await database.query('VACUUM ANALYZE messages');
  } finally {
    await database.end();
  }
}

function nextOf(customers: number): () => string {
  let next = 0;
  return () => `customer ${(next += 7_919) % customers}`;
}

async function lookUpFigures(
  { rounds, short, say }: BenchOptions,
  key: KeyHolder,
  whose: string,
  nextCustomer: () => string,
): Promise<Figure[]> {
  say(`look-ups of ${whose}, ${rounds} rounds`);
  const calls = short ? 4 : 500;
  const page = `query ($id: String!) { sessionsByExternalCustomerId(externalCustomerId: $id) {
    edges { cursor node { id status startedAt } } pageInfo { hasNextPage endCursor } totalCount } }`;
  const lookUps = { 'a page of sessions': page, 'a usage summary': documents.usage };
  const figures: Figure[] = [];
  for (const [what, document] of Object.entries(lookUps)) {
    const all = await oneByOne(rounds, () =>
      oneByOne(calls, () => askWithKey(key, nextAddress(), document, { id: nextCustomer() })),
    );
    for (const [name, q] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const) {
      figures.push(
        figure(
          `${what} of ${whose}, ${name}`,
          medianOf(all, (times) => quantile(times, q)),
          'ms',
        ),
      );
    }
  }
  return figures;
}
