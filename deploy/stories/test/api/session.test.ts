import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { recordExamples } from '../../src/api-examples.ts';
import { createAgent, evaluated, follow } from '../../src/conversation.ts';
import { browserOf, repliesOf, type Started } from '../../src/embed.ts';
import { deliveryOf } from '../../src/external-sync.ts';
import { newProviderAccount, ticketFor } from '../../src/identity-provider.ts';
import { stories } from '../../src/stories.ts';

const story = stories(test);

const judgement = {
  score: 83,
  summary: 'The question was answered.',
  strengths: ['Short answers'],
  weaknesses: ['No greeting'],
  recommendation: 'EXCELLENT',
};

story('the examples of session are those on its page', async (t, mesh) => {
  const { send, subscribe, refused, show, compare } = recordExamples('session');
  const ada = await mesh.person();
  const question = 'How long may I return a lamp?';
  mesh.model.answer(question, { text: ['Within 30 days.'], usage: { prompt_tokens: 210, completion_tokens: 5 } });
  mesh.model.judge(question, { json: judgement });
  // Without a signing secret, the external sync posts nothing, and the delivery waits for another attempt.
  const externalSyncUrl = 'http://hooks.invalid/parley';
  const agentId = await createAgent(ada, { name: 'Robin', useCase: 'SUPPORT', externalSyncUrl });

  const start = `mutation ($input: StartSessionInput!) {
    startSession(input: $input) { id agentId status clientExternalId startedAt } }`;
  const { id: sessionId } = await send<{ id: number }>(ada, start, {
    input: { agentId, clientExternalId: 'customer-17', metadata: { orderId: 'A-1042' } },
  });
  await refused(ada, start, { input: { agentId: 900_000_001, clientExternalId: 'customer-17' } });
  const message = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id status } }';
  const events = `subscription ($sessionId: ID!, $after: String) {
    sessionEvents(sessionId: $sessionId, after: $after) {
      __typename eventId
      ... on SessionStatusEvent { status }
      ... on AiResponseChunkEvent { turnIndex attempt text }
      ... on AiResponseEvent { turnIndex text interrupted }
      ... on TurnFailedEvent { turnIndex code message } } }`;
  await subscribe<{ __typename: string }>(t, ada, {
    query: events,
    variables: { sessionId: String(sessionId), after: '0' },
    act: () => send(ada, message, { input: { sessionId, text: question, clientTurnId: 'turn-1' } }),
    isLast: ({ __typename: type }) => type === 'AiResponseEvent',
  });
  await refused(ada, message, { input: { sessionId, text: ' ' } });
  await send(
    ada,
    `query ($id: ID!) { session(id: $id) {
      id status agent { id name } messages { id role text turnIndex tokensIn tokensOut costUsd } } }`,
    { id: String(sessionId) },
  );
  const list = `query ($agentId: Int, $first: Int, $after: Int) {
    sessions(agentId: $agentId, first: $first, after: $after) { id status clientExternalId lastEventAt } }`;
  await send(ada, list, { agentId, first: 20 });
  await send(ada, '{ sessionCount }');
  await send(ada, '{ avatarToken }');
  const interrupt = 'mutation ($sessionId: ID!) { interruptSession(sessionId: $sessionId) }';
  await send(ada, interrupt, { sessionId: String(sessionId) });
  const end = 'mutation ($sessionId: ID!) { endSession(sessionId: $sessionId) { id status endedAt } }';
  await send(ada, end, { sessionId: String(sessionId) });
  await refused(ada, interrupt, { sessionId: String(sessionId) });
  await refused(ada, end, { sessionId: '900000001' });
  await evaluated(ada, sessionId);
  const evaluation = `query ($sessionId: Int!) { evaluation(sessionId: $sessionId) {
    id score summary strengths weaknesses recommendation generatedAt } }`;
  await send(ada, evaluation, { sessionId });
  const delivery = await deliveryOf(ada, { agentId, sessionId }, ({ lastError }) => lastError !== null);
  show(delivery.webhookId, 'msg_2f8Kc0…');
  const deliveries = `query ($agentId: Int!, $first: Int, $after: String) {
    externalSyncDeliveries(agentId: $agentId, first: $first, after: $after) {
      id sessionId webhookId status attempts lastError nextAttemptAt } }`;
  await send(ada, deliveries, { agentId, first: 20 });
  const audioBase64 = Buffer.from(`say:${question}`).toString('base64');
  show(audioBase64, 'T2dnUwACAAAAAAAAAA…');
  const transcribe = `mutation ($input: TranscribeSpeechInput!) {
    transcribeSpeech(input: $input) { transcript confidence languageCode } }`;
  await send(ada, transcribe, { input: { audioBase64, audioEncoding: 'OGG_OPUS', languageCode: 'en-US' } });

  const server = await ada.withApiKey();
  const sdkStart = `mutation ($input: SdkStartInput!) {
    sdkStart(input: $input) { sessionId agentId avatarToken avatarServiceUrl graphqlEndpoint ttsVoice ttsLang } }`;
  const started = await send<Started>(server, sdkStart, { input: { agentId, clientId: 'customer-18' } });
  show(started.avatarServiceUrl, 'https://voice.example.com');
  show(started.graphqlEndpoint, 'https://parley.example.com/graphql');
  const embedded = started.sessionId;
  const refresh = `mutation ($input: RefreshAvatarTokenInput!) {
    refreshAvatarToken(input: $input) { sessionId avatarToken expiresInMs } }`;
  await send(mesh.visitor(), refresh, { input: { avatarToken: started.avatarToken } });
  const browser = browserOf(server, started.avatarToken);
  const spoken = follow(t, browser, embedded);
  const say = 'mutation ($input: SdkSendMessageInput!) { sdkSendMessage(input: $input) }';
  await send(browser, say, { input: { sessionId: embedded, text: question, clientTurnId: 'turn-1' } });
  await refused(browser, say, { input: { sessionId, text: question } });
  await repliesOf(spoken, 1);
  const grace = newProviderAccount();
  const ticket = await ticketFor(mesh, grace);
  show(ticket, 'tkt_hR2c…');
  show(grace.email ?? '', 'grace@example.com');
  show(grace.subject, 'idp-7183');
  const verify = `mutation ($input: SdkVerifyIdpIdentityInput!) {
    sdkVerifyIdpIdentity(input: $input) { sessionId subject email fullname company linkedProducts } }`;
  await send(browser, verify, { input: { sessionId: embedded, ticket } });
  await refused(browser, verify, { input: { sessionId: embedded, ticket } });
  const ask = `mutation ($sessionId: Int) {
    requestStudyKitExport(sessionId: $sessionId) { id kind status downloadUrl createdAt } }`;
  const { id } = await send<{ id: number }>(browser, ask, { sessionId: embedded });
  const exported = `query ($id: Int!) { exportRecord(id: $id) { id status downloadUrl errorMessage fileSizeBytes } }`;
  await eventually(
    'the export is there',
    async () => (await ada.value<{ status: string }>(exported, { id })).status === 'READY',
    { timeoutMs: 60_000 },
  );
  const record = await send<{ downloadUrl: string; fileSizeBytes: number }>(browser, exported, { id });
  show(record.downloadUrl, 'https://storage.example.com/exports/51ce…?X-Amz-Signature=…');
  show(record.fileSizeBytes, 48_213);
  await refused(browser, exported, { id: 900_000_001 });
  const finish = `mutation ($input: SdkEndSessionInput!) {
    sdkEndSession(input: $input) { sessionId durationSeconds evaluation { score recommendation summary strengths } } }`;
  await browser.query(finish, { input: { sessionId: embedded } });
  await evaluated(ada, embedded); // the first response contains the evaluation only if it is ready within two seconds
  await send(browser, finish, { input: { sessionId: embedded } });

  const ofCustomer = `query ($externalCustomerId: String!, $first: Int, $after: String) {
    sessionsByExternalCustomerId(externalCustomerId: $externalCustomerId, first: $first, after: $after) {
      edges { node { id status } } pageInfo { hasNextPage } totalCount } }`;
  await send(server, ofCustomer, { externalCustomerId: 'customer-17', first: 20 });
  const summary = `query ($externalCustomerId: String!) {
    customerUsageSummary(externalCustomerId: $externalCustomerId) { sessionCount tokensIn tokensOut costUsd } }`;
  await send(server, summary, { externalCustomerId: 'customer-17' });
  compare(t);
});
