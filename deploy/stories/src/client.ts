import { randomInt, randomUUID } from 'node:crypto';
import type { AccessToken } from '../../../services/identity/src/generated/schema.ts';
import type { GraphError } from './graph-error.ts';
import { SessionEvents, type SessionEventsOptions } from './session-events.ts';

/** The response of the public endpoint to one request. */
export interface Answer<Data> {
  status: number;
  headers: Headers;
  /** The unparsed body of the response. */
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
  /** The client's IP address, as reported by a trusted proxy in front of the gateway. */
  readonly ip = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
  tokens: Tokens | undefined;
  /** The API key to send, with or without tokens. */
  apiKey: string | undefined;
  account: Account | undefined;
  /** The port of the model server for agents that this client creates. Undefined: the mesh's configured model. */
  modelPort: number | undefined;
  /** The request ids of all responses. */
  readonly requestIds = new Set<string>();

  constructor(url: string) {
    this.url = url;
  }

  /** Sends a document and returns the response, even with errors. @param signal aborts the request */
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

  /** Sends an operation that must succeed, and returns its data. */
  async query<Data = Record<string, unknown>>(query: string, variables: object = {}): Promise<Data> {
    const { data, errors } = await this.send<Data>(query, variables);
    if (errors || !data) throw new Error(`refused: ${JSON.stringify(errors)}\n${query}`);
    return data;
  }

  /** Sends an operation that has one field and must succeed. Returns the field's value. */
  async value<T>(query: string, variables: object = {}): Promise<T> {
    return Object.values(await this.query(query, variables))[0] as T;
  }

  /** Sends an operation that must be refused, and returns its only error. */
  async refusal(query: string, variables: object = {}): Promise<GraphError> {
    const { data, errors } = await this.send(query, variables);
    const [error, ...others] = errors ?? [];
    if (!error || others.length > 0) throw new Error(`not refused once: ${JSON.stringify({ data, errors })}\n${query}`);
    return error;
  }

  /** Subscribes to a session on a separate socket. */
  subscribe(sessionId: number | string, options: Omit<SessionEventsOptions, 'url' | 'credentials'> = {}) {
    return new SessionEvents(sessionId, { url: this.url, credentials: this.credentials(), ...options });
  }

  /** Registers an account and keeps its tokens for later requests. */
  async register(given: Partial<Account> & Record<string, unknown> = {}): Promise<Account> {
    const input = { ...newAccount(), ...given };
    const document = `mutation ($input: RegisterInput!) { register(input: $input) { ${tokenFields} } }`;
    this.tokens = await this.value<Tokens>(document, { input });
    this.account = input;
    return input;
  }

  /** Signs in and keeps the tokens for later requests. */
  async login(input: { email?: string; phoneNumber?: string; password: string }): Promise<Tokens> {
    const document = `mutation ($input: SignInInput!) { login(input: $input) { ${tokenFields} } }`;
    this.tokens = await this.value<Tokens>(document, { input });
    return this.tokens;
  }

  /** Returns a client of the same user on another device, with its own sign-in. */
  async elsewhere(): Promise<Client> {
    if (!this.account) throw new Error('This client has no account');
    const other = this.at(this.url);
    other.tokens = undefined;
    await other.login({ email: this.account.email, password: this.account.password });
    return other;
  }

  /** Generates an API key for the tenant, which revokes the previous key. Returns a client that has the key and no tokens. */
  async withApiKey(): Promise<Client> {
    const { key } = await this.value<{ key: string }>('mutation { generateApiKey { key } }');
    return Object.assign(new Client(this.url), { apiKey: key });
  }

  /** Returns a client with the same tokens at another gateway, with another IP address. */
  at(url: string): Client {
    const { tokens, account, modelPort } = this;
    return Object.assign(new Client(url), { tokens, account, modelPort });
  }

  /** Returns the headers of the client's requests, which are also the parameters of its sockets. */
  credentials(): Record<string, string> {
    return {
      'x-app-platform': 'customer',
      'x-forwarded-for': this.ip,
      ...(this.tokens && { authorization: `Bearer ${this.tokens.accessToken}` }),
      ...(this.apiKey !== undefined && { 'x-api-key': this.apiKey }),
    };
  }
}

/** Returns the input for a new account. */
export function newAccount() {
  const name = randomUUID();
  return {
    email: `${name}@example.com`,
    password: `${name} passphrase`,
    fullname: 'Ada Lovelace',
    phoneCode: '+44',
    // A mobile number in the United Kingdom: 7, then nine digits.
    phoneNumber: `7${randomInt(100_000_000, 1_000_000_000)}`,
  };
}
