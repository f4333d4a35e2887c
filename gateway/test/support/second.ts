/** The limit in ms for what takes a second when other tests use the CPU: still far below the lifetime of a token. */
export const secondMs = 15_000;
