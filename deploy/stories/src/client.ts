import { randomInt, randomUUID } from 'node:crypto';
import type { AccessToken } from '../../../services/identity/src/generated/schema.ts';
import type { GraphError } from './graph-error.ts';
import { SessionEvents, type SessionEventsOptions } from './session-events.ts';

/** The response of the public endpoint to one request. */
export interface Answer<Data> {
  status: number;
  headers: Headers;
  /** The raw body. */
  text: string;
  data?: Data | null;
  errors?: GraphError[];
}

export type Tokens = Omit<AccessToken, '__typename'>;

export type Account = ReturnType<typeof newAccount>;

export const tokenFields = 'accessToken expiresIn refreshToken refreshExpiresIn';

/** A client of the public API, with `fetch` and graphql-ws. */
export class Client {
  readonly url: string;
  /** Its IP address, which a trusted proxy in front of the gateway would report. */
  readonly ip = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  tokens: Tokens | undefined;
  /** Sent with the tokens, or instead of them. */
  apiKey: string | undefined;
  account: Account | undefined;
  /** The port of the model server for the agents that it creates; undefined: the configured model of the mesh. */
  modelPort: number | undefined;
  /** The request ids of all responses. */
  readonly requestIds = new Set<string>();

  constructor(url: string) {
    this.url = url;
  }

  /** Sends a document and returns the response, also with errors. @param signal aborts the request. */
  async send<Data = Record<string, unknown>>(
    query: string,
    variables: object = {},
    headers: Record<string, string> = {},
    signal: AbortSignal | null = null,
  ): Promise<Answer<Data>> {
    const response = await fetch(this.url, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', ...this.credentials(), ...headers },
      body: JSON.stringify({ query, variables }),
    });
    const text = await response.text();
    this.requestIds.add(response.headers.get('x-request-id') ?? '');
    const body = JSON.parse(text) as Pick<Answer<Data>, 'data' | 'errors'>;
    return { status: response.status, headers: response.headers, text, ...body };
  }

  /** The data of an operation that must succeed. */
  async query<Data = Record<string, unknown>>(query: string, variables: object = {}): Promise<Data> {
    const { data, errors } = await this.send<Data>(query, variables);
    if (errors || !data) throw new Error(`refused: ${JSON.stringify(errors)}\n${query}`);
    return data;
  }

  /** The value of the only field of an operation that must succeed. */
  async value<T>(query: string, variables: object = {}): Promise<T> {
    return Object.values(await this.query(query, variables))[0] as T;
  }

  /** The only error of an operation that must be refused. */
  async refusal(query: string, variables: object = {}): Promise<GraphError> {
    const { data, errors } = await this.send(query, variables);
    const [error, ...others] = errors ?? [];
    if (!error || others.length > 0) throw new Error(`not refused once: ${JSON.stringify({ data, errors })}\n${query}`);
    return error;
  }

  /** Follows a session on a socket of its own. */
  subscribe(sessionId: number | string, options: Omit<SessionEventsOptions, 'url' | 'credentials'> = {}) {
    return new SessionEvents(sessionId, { url: this.url, credentials: this.credentials(), ...options });
  }

  /** Registers an account and uses it from then on. */
  async register(given: Partial<Account> & Record<string, unknown> = {}): Promise<Account> {
    const input = { ...newAccount(), ...given };
    const document = `mutation ($input: RegisterInput!) { register(input: $input) { ${tokenFields} } }`;
    this.tokens = await this.value<Tokens>(document, { input });
    this.account = input;
    return input;
  }

  /** Signs in, and uses these tokens from then on. */
  async login(input: { email?: string; phoneNumber?: string; password: string }): Promise<Tokens> {
    const document = `mutation ($input: SignInInput!) { login(input: $input) { ${tokenFields} } }`;
    this.tokens = await this.value<Tokens>(document, { input });
    return this.tokens;
  }

  /** A client of the same user on another device, with a sign-in of its own. */
  async elsewhere(): Promise<Client> {
    if (!this.account) throw new Error('This client has no account');
    const other = this.at(this.url);
    other.tokens = undefined;
    await other.login({ email: this.account.email, password: this.account.password });
    return other;
  }

  /** A client with a new API key of the same tenant, and no tokens. The previous key is revoked. */
  async withApiKey(): Promise<Client> {
    const { key } = await this.value<{ key: string }>('mutation { generateApiKey { key } }');
    return Object.assign(new Client(this.url), { apiKey: key });
  }

  /** A client with the same tokens at another gateway, with another IP address. */
  at(url: string): Client {
    const { tokens, account, modelPort } = this;
    return Object.assign(new Client(url), { tokens, account, modelPort });
  }

  /** The headers of its requests, and the parameters of its sockets. */
  credentials(): Record<string, string> {
    return {
      'x-app-platform': 'customer',
      'x-forwarded-for': this.ip,
      ...(this.tokens && { authorization: `Bearer ${this.tokens.accessToken}` }),
      ...(this.apiKey !== undefined && { 'x-api-key': this.apiKey }),
    };
  }
}

/** The input for a new account. */
export function newAccount() {
  const name = randomUUID();
  return {
    email: `${name}@example.com`,
    password: `${name} passphrase`,
    fullname: 'Ada Lovelace',
    phoneCode: '+44',
    // Mobile numbers of the United Kingdom: 7, then nine digits.
    phoneNumber: `7${randomInt(100_000_000, 1_000_000_000)}`,
  };
}
