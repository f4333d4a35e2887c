/** Fields of all mutations that sign in. */
export const tokenFields = 'accessToken refreshToken';
export type Tokens = Record<'accessToken' | 'refreshToken', string>;

/** Whatever the API answers in place of data, or a socket ends with. */
export interface Failure {
  message?: string;
  extensions?: { code?: unknown } | undefined;
  code?: unknown;
}

/** Its `code` is the contract's, e.g. `BAD_REQUEST`, or the one that a socket was closed with. */
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

export type Api = ReturnType<typeof publicApi>;

/** The public API as one signed-in person uses it. `headers` are sent with each of its requests. */
export function publicApi(url: string, headers: Record<string, string> = {}) {
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
      throw new ApiError({ message: `Nothing answers at ${url}. Is it up? Start it with scripts/up.` });
    });
    const answer = (await response.json().catch(() => ({}))) as { data?: Data; errors?: Failure[] };
    if (answer.errors?.[0]) throw new ApiError(answer.errors[0]);
    if (!answer.data) throw new ApiError({ message: `${url} answered ${response.status} without data` });
    return answer.data;
  }

  /** One refresh at a time: a refresh token is spent by its first use. */
  function renew(): Promise<void> {
    refreshing ??= post<{ refreshToken: Tokens }>(refresh, { refreshToken: tokens?.refreshToken })
      .then((data) => void (tokens = data.refreshToken))
      .finally(() => (refreshing = undefined));
    return refreshing;
  }

  return {
    url,
    signIn: (given: Tokens) => void (tokens = given),
    /** Runs a query or mutation and answers its data. A token that has ended is refreshed once. @throws ApiError */
    async call<Data>(query: string, variables: object = {}): Promise<Data> {
      try {
        return await post<Data>(query, variables);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'UNAUTHENTICATED' || !tokens) throw error;
        await renew();
        return post(query, variables);
      }
    },
    /** What a socket shows when it opens, with a token that has just been refreshed where `fresh` is asked for. */
    async connectionParams(fresh = false): Promise<Record<string, string>> {
      if (fresh) await renew();
      return credentials();
    },
  };
}
