/** A pair of tokens, as the API hands them out. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
}

/** An error that the API answered. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The contract's code, e.g. `BAD_REQUEST`. */
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The public API as one signed-in person uses it. */
export interface Api {
  /** Runs a query or mutation and answers its data. A token that has ended is refreshed once. @throws ApiError */
  call<Data>(query: string, variables?: Record<string, unknown>): Promise<Data>;
  /** What a socket shows when it opens, with a token that has just been refreshed where `fresh` is asked for. */
  connectionParams(fresh?: boolean): Promise<Record<string, string>>;
  signIn(tokens: Tokens): void;
  readonly url: string;
}

const refresh = `mutation ($refreshToken: String!) {
  refreshToken(input: { refreshToken: $refreshToken }) { accessToken refreshToken }
}`;

export function publicApi(url: string): Api {
  let tokens: Tokens | undefined;
  let refreshing: Promise<void> | undefined;

  async function post<Data>(query: string, variables: Record<string, unknown>): Promise<Data> {
    let response: Response;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-app-platform': 'customer',
          ...(tokens && { authorization: `Bearer ${tokens.accessToken}` }),
        },
        body: JSON.stringify({ query, variables }),
      });
    } catch (error) {
      throw new ApiError(`Nothing answers at ${url}. Is it up? Start it with scripts/up.`, 'UNREACHABLE', {
        cause: error,
      });
    }
    const answer = (await response.json().catch(() => ({}))) as {
      data?: Data;
      errors?: { message: string; extensions?: { code?: string } }[];
    };
    const [error] = answer.errors ?? [];
    if (error) throw new ApiError(error.message, error.extensions?.code ?? 'UNKNOWN');
    if (!answer.data) throw new ApiError(`${url} answered ${response.status} without data`, 'UNKNOWN');
    return answer.data;
  }

  /** One refresh at a time: a refresh token is spent by its first use. */
  function renew(): Promise<void> {
    refreshing ??= (async () => {
      const data = await post<{ refreshToken: Tokens }>(refresh, { refreshToken: tokens?.refreshToken });
      tokens = data.refreshToken;
    })().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  return {
    url,
    signIn(given) {
      tokens = given;
    },
    async call(query, variables = {}) {
      try {
        return await post(query, variables);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'UNAUTHENTICATED' || !tokens) throw error;
        await renew();
        return post(query, variables);
      }
    },
    async connectionParams(fresh = false) {
      if (fresh) await renew();
      return { 'x-app-platform': 'customer', authorization: `Bearer ${tokens?.accessToken ?? ''}` };
    },
  };
}
