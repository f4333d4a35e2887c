import type { SdkStartResult } from '../../../services/session/src/generated/schema.ts';
import { Client } from './client.ts';
import type { AsJson } from './messages.ts';
import type { SessionEvents } from './session-events.ts';

export type Started = AsJson<Omit<SdkStartResult, '__typename'>>;

const resultFields = `sessionId agentId avatarToken avatarServiceUrl graphqlEndpoint avatarGlb avatarGender ttsVoice ttsLang lipsyncLang
  speakingRate vadThreshold`;

/**
 * Reports whether an operation accepts only session tokens. Such an operation refuses with FORBIDDEN every id that is not the id of the
 * token's session.
 */
export function isForBrowsers({ by }: { by: readonly string[] }): boolean {
  return by.length === 1 && by[0] === 'SESSION_TOKEN';
}

/** Starts an embedded session. @param server a client with an API key */
export function sdkStart(server: Client, input: object): Promise<Started> {
  return server.value(`mutation ($input: SdkStartInput!) { sdkStart(input: $input) { ${resultFields} } }`, { input });
}

/** Returns a browser: a client at the same gateway that has only a session token. */
export function browserOf(server: Client, avatarToken: string): Client {
  return Object.assign(new Client(server.url), {
    tokens: { accessToken: avatarToken, expiresIn: 0, refreshToken: '', refreshExpiresIn: 0 },
  });
}

export const documents = {
  send: 'mutation ($input: SdkSendMessageInput!) { sdkSendMessage(input: $input) }',
  end: `mutation ($input: SdkEndSessionInput!) {
    sdkEndSession(input: $input) { sessionId durationSeconds evaluation { score recommendation summary strengths } } }`,
  verify: `mutation ($input: SdkVerifyIdpIdentityInput!) {
    sdkVerifyIdpIdentity(input: $input) { sessionId subject email fullname company linkedProducts } }`,
  ofCustomer: `query ($id: String!, $first: Int, $after: String) {
    sessionsByExternalCustomerId(externalCustomerId: $id, first: $first, after: $after) {
      edges { cursor node { id status agent { id name } messages { text } } } pageInfo { hasNextPage endCursor } totalCount } }`,
  usage: `query ($id: String!) {
    customerUsageSummary(externalCustomerId: $id) { externalCustomerId sessionCount tokensIn tokensOut costUsd } }`,
  refresh: `mutation ($input: RefreshAvatarTokenInput!) {
    refreshAvatarToken(input: $input) { sessionId avatarToken expiresInMs } }`,
};

/** Waits for `count` complete replies, including a greeting, and returns them. */
export function repliesOf(events: SessionEvents, count: number) {
  return events.until(`${count} replies`, ({ all }) => {
    const replies = all.filter((event) => event.__typename === 'AiResponseEvent');
    return replies.length >= count && replies;
  });
}
