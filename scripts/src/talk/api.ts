/** Fields that all mutations for signing in return. */
export const tokenFields = 'accessToken refreshToken';
export type Tokens = Record<'accessToken' | 'refreshToken', string>;

/** An error of the API, or the reason why a socket was closed. */
export interface Failure {
  message?: string;
  extensions?: { code?: unknown } | undefined;
  code?: unknown;
}

/** An error of the API. `code` is the contract's code, e.g. `BAD_REQUEST`, or the close code of a socket. */
export class ApiError extends Error {
  readonly code: unknown;

  constructor({ message, extensions, code = extensions?.code }: Failure) {
    super(message || `closed with ${code ?? 'an error'}`);
    this.code = code;
  }
}

const refresh = `mutation ($refreshToken: String!) {
  refreshToken(input: { refreshToken: $refreshToken }) { ${tokenFields} }
}`;

export interface Api {
  url: string;
  /** Returns the API for another caller, whom these headers identify. */
  as: (headers: Record<string, string>) => Api;
  /** Uses these tokens from now on. */
  signIn: (given: Tokens) => void;
  /** Runs a query or mutation and returns its data. An expired token is refreshed once. @throws ApiError */
  call: <Data>(query: string, variables?: object) => Promise<Data>;
  /** Returns the connection parameters of a socket, with a newly refreshed token if `fresh`. */
  connectionParams: (fresh?: boolean) => Promise<Record<string, string>>;
}

/** Returns a client of the public API with the tokens of one user. `headers` are sent with each request. */
export function publicApi(url: string, headers: Record<string, string> = {}): Api {
  let tokens: Tokens | undefined;
  let refreshing: Promise<void> | undefined;

  function credentials(): Record<string, string> {
    return { 'x-app-platform': 'customer', ...(tokens && { authorization: `Bearer ${tokens.accessToken}` }) };
  }

  async function post<Data>(query: string, variables: object): Promise<Data> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, ...credentials(), 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    }).catch(() => {
      throw new ApiError({ message: `No server answers at ${url}. Start it with scripts/up.` });
    });
    const answer = (await response.json().catch(() => ({}))) as { data?: Data; errors?: Failure[] };
    if (answer.errors?.[0]) throw new ApiError(answer.errors[0]);
    if (!answer.data) throw new ApiError({ message: `${url} answered ${response.status} without data` });
    return answer.data;
  }

  /** Refreshes the tokens. Only one refresh runs at a time, because a refresh token can be used only once. */
  function renew(): Promise<void> {
    refreshing ??= post<{ refreshToken: Tokens }>(refresh, { refreshToken: tokens?.refreshToken })
      .then((data) => void (tokens = data.refreshToken))
      .finally(() => (refreshing = undefined));
    return refreshing;
  }

  return {
    url,
    as: (others: Record<string, string>) => publicApi(url, { ...headers, ...others }),
    signIn: (given: Tokens) => void (tokens = given),
    async call<Data>(query: string, variables: object = {}): Promise<Data> {
      try {
        return await post<Data>(query, variables);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'UNAUTHENTICATED' || !tokens) throw error;
        await renew();
        return post(query, variables);
      }
    },
    async connectionParams(fresh = false): Promise<Record<string, string>> {
      if (fresh) await renew();
      return credentials();
    },
  };
}
