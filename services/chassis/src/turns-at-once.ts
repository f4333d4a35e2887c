import { positiveInt } from './config.ts';

/**
 * How many turns one process of session runs at once, and how many calls of one model provider one process of agent makes at
 * once: one setting for both, so that as many calls are let through as there are turns. Default 200.
 */
export const turnsAtOnceSetting = { SESSION_TURNS_AT_ONCE: positiveInt.default(200) };
