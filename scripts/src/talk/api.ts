/** Where `scripts/up` listens when nothing says otherwise. */
export const defaultUrl = 'http://localhost:4000/graphql';

/** A pair of tokens, as the API hands them out. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
}

/** An error that the API answered, with the contract's code, e.g. `BAD_REQUEST`. */
export class ApiError extends Error {
  readonly code: string;

  constructor(message: string, code: unknown = 'UNKNOWN') {
    super(message);
    this.code = String(code);
  }
}

/** An error as it answers it. */
export interface GraphError {
  message: string;
  extensions?: { code?: string };
}

const refresh = `mutation ($refreshToken: String!) {
  refreshToken(input: { refreshToken: $refreshToken }) { accessToken refreshToken }
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
      throw new ApiError(`Nothing answers at ${url}. Is it up? Start it with scripts/up.`, 'UNREACHABLE');
    });
    const answer = (await response.json().catch(() => ({}))) as { data?: Data; errors?: GraphError[] };
    const [error] = answer.errors ?? [];
    if (error) throw new ApiError(error.message, error.extensions?.code);
    if (!answer.data) throw new ApiError(`${url} answered ${response.status} without data`);
    return answer.data;
  }

  /** One refresh at a time: a refresh token is spent by its first use. */
  async function renew(): Promise<void> {
    refreshing ??= post<{ refreshToken: Tokens }>(refresh, { refreshToken: tokens?.refreshToken })
      .then((data) => void (tokens = data.refreshToken))
      .finally(() => (refreshing = undefined));
    await refreshing;
  }

  return {
    url,
    signIn(given: Tokens): void {
      tokens = given;
    },
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
