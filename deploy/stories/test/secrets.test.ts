import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { generateSync } from 'otplib';
import { createAction, createConnector, mcpServer, outboundCallsOf, partnerActions, restApi } from '../src/actions.ts';
import { type Client, newAccount, type Tokens, tokenFields } from '../src/client.ts';
import { converse, readSession, sendMessage } from '../src/conversation.ts';
import { idsOf, withCredentials } from '../src/credentials.ts';
import { enter, idpOneSecret, loginWithTicket, newProviderAccount, ticketFor } from '../src/identity-provider.ts';
import type { TestMesh } from '../src/mesh.ts';
import { foundIn, observe } from '../src/observe.ts';
import { operator, operatorOf } from '../src/operator.ts';
import { eventsOf, rowsOf } from '../src/stored-texts.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const generateKey = 'mutation { generateApiKey { key } }';
const generateOtp =
  'mutation ($email: String!, $purpose: TokenPurpose!) { generateOTP(input: { email: $email, purpose: $purpose }) }';
const resetWithUrl =
  'mutation ($email: String) { resetUserPasswordWithUrl(input: { email: $email, purpose: RESET_PASSWORD }) }';
const validate = 'mutation ($token: ValidateSecuredTokenInput!) { validateSecuredToken(input: $token) }';
const forgotPassword =
  'mutation ($newPassword: String!, $token: ValidateSecuredTokenInput!) { forgotPasswordWithOTP(input: { newPassword: $newPassword, token: $token }) }';
const changePassword = 'mutation ($newPassword: String!) { changePassword(input: { newPassword: $newPassword }) }';
const link =
  'mutation ($provider: AuthProvider!, $token: String!) { linkIdentity(provider: $provider, providerToken: $token) }';
const refresh = `mutation ($token: String!) { refreshToken(input: { refreshToken: $token }) { ${tokenFields} } }`;
const bind = 'mutation ($secret: String!, $code: String!) { bindTwoFactor(input: { secret: $secret, code: $code }) }';
const verify = 'mutation ($code: String!) { verifyTwoFactor(code: $code) }';
const unbind = 'mutation ($code: String!) { unbindTwoFactor(input: { code: $code }) }';

/** Waits for a mail to the address, and returns the only match of the pattern in its text. */
const mailed = (mesh: TestMesh, email: string, pattern: RegExp) =>
  eventually(`a mail with ${pattern}`, async () => {
    const texts = (await mesh.mailTo(email)).map(({ text }) => text ?? '');
    return texts.flatMap((text) => pattern.exec(text)?.[1] ?? [])[0];
  });

// Six digits may occur in any number, id or time, so a code is matched as a whole word.
story(
  'no password, code, link, TOTP secret, API key, token, ticket, idNo, fcmToken or tenant secret is in a log line, span, metric, row or event',
  async (t, mesh) => {
    const observed = observe(mesh);
    const secrets = [idpOneSecret];
    const codes: string[] = [];
    const rows: Record<string, string>[] = [];
    const keep = (secret: string) => {
      secrets.push(secret);
      return secret;
    };
    const canary = (name: string) => keep(`canary-${name}-${randomUUID()}`);
    const keepTokens = ({ accessToken, refreshToken }: Tokens) => [accessToken, refreshToken].forEach(keep);
    const digits = (code: string) => {
      codes.push(code);
      return code;
    };
    /**
     * Records all rows after each step, because some rows exist only briefly. Rows of messages are tested in identity's messages.test.ts.
     */
    const look = async () => void rows.push(await rowsOf(mesh));

    const ada = mesh.visitor();
    const password = canary('password');
    const { email } = await ada.register({
      password,
      fcmToken: canary('fcm'),
      idType: 'PASSPORT',
      idNo: canary('idno'),
    });
    const { tenantId } = await idsOf(ada);
    const phone = await ada.elsewhere();
    for (const { tokens } of [ada, phone]) keepTokens(tokens as Tokens);
    keepTokens(await phone.value<Tokens>(refresh, { token: phone.tokens?.refreshToken }));
    await phone.send(refresh, { token: canary('refresh') });
    await mesh.visitor().send('mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }', {
      input: { email, password: canary('wrong-password') },
    });
    await look();

    const key = { 'idempotency-key': randomUUID() };
    for (let n = 0; n < 2; n += 1) {
      const { data } = await ada.send<{ generateApiKey: { key: string } }>(generateKey, {}, key);
      keep(data?.generateApiKey.key ?? t.fail());
    }
    t.is(new Set(secrets.slice(-2)).size, 1, 'the retry is shown what was kept');
    const server = Object.assign(mesh.visitor(), { apiKey: secrets.at(-1) });
    await server.send('{ generateText(input: { prompt: "" }) { text } }');
    await look();

    const admin = await operatorOf(t, withCredentials(mesh));
    await admin.putTenantSecret(
      { tenantId, name: 'WEBHOOK_KEY', value: canary('tenant-secret') },
      { caller: operator },
    );
    const invited = newAccount();
    await admin.issueInvitation({ contact: invited.email }, { caller: operator });
    await look();
    const invitation = keep(await mailed(mesh, invited.email, /\n(pst_[\w-]{43})\n/u));
    await mesh.visitor().register({ ...invited, password: canary('invited') });
    t.true(await mesh.visitor().value(validate, { token: { token: invitation } }));

    await setNewPasswords(ada);
    await look();

    const { secret } = await ada.value<{ secret: string }>('mutation { generateTwoFactor { secret } }');
    keep(secret);
    const codeAfter = (steps: number) =>
      digits(generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 * steps }));
    await ada.send(bind, { secret: canary('totp'), code: codeAfter(0) });
    await ada.query(bind, { secret, code: codeAfter(-1) });
    await look();
    await ada.query(verify, { code: codeAfter(0) });
    await ada.query(unbind, { code: codeAfter(1) });
    await look();

    const person = newProviderAccount();
    const ticket = keep(await ticketFor(mesh, person));
    const grace = mesh.visitor();
    grace.tokens = await grace.value<Tokens>(loginWithTicket, { ticket });
    keepTokens(grace.tokens);
    t.true(await grace.value(link, { provider: 'PASSWORD', token: canary('first-password') }));
    t.true(await grace.value(link, { provider: 'IDP_ONE', token: keep(await ticketFor(mesh, person)) }));
    await grace.send(link, { provider: 'IDP_ONE', token: canary('ticket') });
    keepTokens((await enter(mesh, person)).tokens as Tokens);
    await ada.query('mutation { deleteTenant }');
    await look();

    async function setNewPasswords(owner: Client): Promise<void> {
      const visitor = mesh.visitor();
      t.true(await owner.value(changePassword, { newPassword: canary('changed') }));
      await owner.send(changePassword, { newPassword: canary('too-long').padEnd(200, '-') });
      const id = await visitor.value<number>(generateOtp, { email, purpose: 'RESET_PASSWORD' });
      await look();
      const code = digits(await mailed(mesh, email, /\n(\d{6})\n/u));
      t.true(await visitor.value(validate, { token: { id, token: code } }));
      await visitor.send(validate, { token: { id, token: canary('wrong-code') } });
      t.true(await visitor.value(forgotPassword, { newPassword: canary('by-code'), token: { id, token: code } }));
      t.true(await visitor.value(resetWithUrl, { email }));
      await look();
      const token = keep(await mailed(mesh, email, /\?token=(pst_[\w-]{43})\n/u));
      const newPassword = canary('by-link');
      t.true(await visitor.value(forgotPassword, { newPassword, token: { token } }));
      keepTokens(await owner.login({ email, password: newPassword }));
    }

    await observed.allWritten();
    const written = await observed.written();
    const events = await eventually('the event of the deletion', async () => {
      const found = await eventsOf(mesh);
      return (
        (!mesh.settings['KAFKA_BROKERS'] || found['events of tenant-deleted']?.includes(`\n${tenantId}\n`)) && found
      );
    });
    t.true(written.log.includes('"unit":"identity"'));
    t.true(written.spans.includes('job identity.send-'));
    t.regex(written.metrics, /operation="register"/u);
    t.true(rows.at(-1)?.['rows of identity.users']?.includes(email), 'rows of all tenants are seen');
    const found = [written, events, ...rows].flatMap((each) => [...foundIn(each, secrets), ...asWords(each, codes)]);
    t.deepEqual([...new Set(found)], []);
  },
);

/** Ways in which a server may echo a call's credential, with the expected error kind. */
const echoes: [name: string, answer: (said: string, response: ServerResponse) => unknown, errorKind: string | null][] =
  [
    [
      'json',
      (said, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify({ said })),
      null,
    ],
    ['text', (said, response) => response.setHeader('location', `https://example.com/?${said}`).end(said), null],
    ['refusal', (said, response) => response.writeHead(401, { 'www-authenticate': said }).end(said), 'HTTP_STATUS'],
    ['failure', (said, response) => response.writeHead(500, { 'x-request-id': said }).end(said), 'HTTP_STATUS'],
    [
      'redirect',
      (said, response) => response.writeHead(302, { location: `http://10.0.0.1/${said}` }).end(),
      'REDIRECT_REFUSED',
    ],
    ['broken', (said, response) => response.writeHead(200, { 'content-length': '9999' }).end(said), 'REMOTE_BROKEN'],
  ];

story(
  'no credential, argument or result of a tool call is in a response, event, log line, span, metric or row, whatever the servers return',
  async (t, mesh) => {
    const observed = observe(mesh);
    const ada = await mesh.person();
    const { tenantId } = await idsOf(ada);
    const secrets: string[] = [];
    const canary = (name: string) => {
      const secret = `canary-${name}-${randomUUID()}`;
      secrets.push(secret);
      return secret;
    };
    const credentials: string[] = [];
    const credential = (name: string) => {
      const secret = canary(name);
      credentials.push(secret);
      return secret;
    };
    const [argument, result] = [canary('argument'), canary('result')];
    const rest = await restApi(t, ({ path, headers }, response) => {
      const said = `${headers.authorization} ${headers['x-key']} ${result}`;
      const echo = echoes.find(([name]) => path.startsWith(`/${name}`));
      return echo ? echo[1](said, response) : response.end(said);
    });
    const mcp = await mcpServer(t, {
      'tools/list': () => ({
        tools: ['fine', 'failing', 'refused'].map((name) => ({ name, inputSchema: { type: 'object' } })),
      }),
      'tools/call': ({ params }, response, { headers }) => {
        const said = `${headers.authorization} ${result}`;
        const content = [{ type: 'text', text: said }];
        if (params.name === 'refused') return void response.writeHead(403).end(said);
        return { content, isError: params.name === 'failing' };
      },
    });
    const connectorId = await createConnector(ada, { serverUrl: mcp.url, apiKey: credential('connector') });
    const tools: object[] = ['fine', 'failing', 'refused'].map((tool) => ({ connectorId, tool }));
    for (const [name] of echoes) {
      const input = { name, url: `${rest.url}/${name}`, bearerToken: credential(name) };
      tools.push({ actionId: await createAction(ada, input) });
    }
    const messagingAppSecret = credential('messaging');
    const messaging = { name: 'messaging', url: `${rest.url}/messaging`, messagingAppId: 'app', messagingAppSecret };
    tools.push({ actionId: await createAction(ada, messaging) });
    const keyed = { name: 'keyed', url: `${rest.url}/keyed`, bearerToken: credential('key') };
    tools.push({ actionId: await createAction(ada, { ...keyed, credentialSecretHeaderName: 'X-Key' }) });
    const partner = await partnerActions(t, mesh, tenantId);
    const url = `${rest.url}/partner`;
    tools.push({ actionId: await partner.create({ name: 'partner', url, value: credential('partner') }) });

    const names = ['fine', 'failing', 'refused', ...echoes.map(([name]) => name), 'messaging', 'keyed', 'partner'];
    let told: string[] = [];
    mesh.model.answer('Call all of them.', ({ results }) => {
      told = results.map(({ text }) => text);
      const toolCalls = names.map((name) => ({ name, arguments: { argument } }));
      return results.length > 0 ? { text: 'All called.' } : { toolCalls };
    });
    const { sessionId, events } = await converse(t, ada, { tools });
    await sendMessage(ada, sessionId, 'Call all of them.');
    const [reply] = await events.turns(1);
    t.like(reply, { __typename: 'AiResponseEvent', text: 'All called.' });
    const calls = (await readSession(ada, sessionId)).messages[1]?.toolCalls ?? [];
    t.deepEqual(Object.fromEntries(calls.map(({ name, errorKind }) => [name, errorKind])), {
      fine: null,
      failing: 'TOOL_FAILED',
      refused: 'CONNECTOR_UNAUTHORIZED',
      ...Object.fromEntries(echoes.map(([name, , errorKind]) => [name, errorKind])),
      messaging: null,
      keyed: null,
      partner: null,
    });
    // The model receives the servers' responses without the echoed credentials.
    t.true(told[0]?.includes(result));
    const model = JSON.stringify(told);
    t.deepEqual(
      credentials.filter((secret) => model.includes(secret)),
      [],
    );
    const sent = JSON.stringify([rest.seen, mcp.received]);
    const unsent = credentials.filter((secret) => !sent.includes(secret));
    t.deepEqual(unsent, [messagingAppSecret], 'all but what is exchanged are sent');

    await observed.allWritten();
    const answers = [
      events.all,
      await readSession(ada, sessionId),
      await outboundCallsOf(ada),
      await ada.query('{ mcpConnectors { name serverUrl } customActions { name url extraHeaders credentialSource } }'),
      await ada.send('query ($id: Int!) { listMcpTools(connectorId: $id) { name inputSchema } }', { id: connectorId }),
    ];
    const texts = [
      await observed.written(),
      await rowsOf(mesh),
      await eventsOf(mesh),
      { answers: JSON.stringify(answers) },
    ];
    t.deepEqual([...new Set(texts.flatMap((each) => foundIn(each, secrets)))], []);
  },
);

function asWords(texts: Record<string, string>, codes: readonly string[]): string[] {
  const words = new RegExp(`(?<![\\w.])(?:${codes.join('|')})(?![\\w.])`, 'gu');
  return Object.entries(texts).flatMap(([where, text]) =>
    (text.match(words) ?? []).map((code) => `${code} in ${where}`),
  );
}
