/**
 * A limit in ms for actions that take up to a second, with room for other tests that use the CPU. The limit is far below the lifetime of a
 * token.
 */
export const secondMs = 15_000;
