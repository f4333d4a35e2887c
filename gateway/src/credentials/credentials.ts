import type { TokenClaims } from '@parley/chassis/session-token';
import type { AccessToken } from './access-tokens.ts';

/** The credentials that a request or a socket shows, unverified. */
export interface Credentials {
  /** What follows `Bearer` in the Authorization header: an access token, or a session token (`pst1.…`). */
  bearer?: string;
  apiKey?: string;
  /** `bearer`, once it has been verified. What holds on to it lives with the sign-in, not with the token's minutes. */
  verified?: AccessToken;
  /** The same of a session token. */
  session?: TokenClaims<'session'>;
}

/** Reads credentials from HTTP headers or from a socket's connection parameters; names compare without case. */
export function readCredentials(fields: Record<string, unknown>): Credentials {
  const credentials: Credentials = {};
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string') continue;
    if (name.toLowerCase() === 'x-api-key') credentials.apiKey = value;
    if (name.toLowerCase() === 'authorization') {
      const bearer = /^Bearer +(\S+) *$/i.exec(value)?.[1];
      if (bearer) credentials.bearer = bearer;
    }
  }
  return credentials;
}
