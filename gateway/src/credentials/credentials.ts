import type { TokenClaims } from '@parley/kernel/secrets/session-token';
import type { AccessToken } from './access-tokens.ts';

/** The origin of a request. */
export interface Origin {
  ip: string;
  requestId: string;
}

export interface Credentials {
  bearer?: string;
  apiKey?: string;
  /** The verified access token. The connection may outlive the token, but not its sign-in. */
  verified?: AccessToken;
  session?: TokenClaims<'session'>;
}

/** Reads credentials from HTTP headers or connection parameters; names are case-insensitive. */
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
