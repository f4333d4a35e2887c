/**
 * What "within a second" may take where other tests keep the machine busy, in ms: still far from the minutes of a token, and from
 * what a lost announcement would take without the look at all open sockets.
 */
export const secondMs = 15_000;
