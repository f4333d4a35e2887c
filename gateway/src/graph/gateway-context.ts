import type { Caller } from '@parley/chassis/caller';
import type { Presented } from '../credentials/presented.ts';

/** One request's context. */
export interface GatewayContext {
  /** Who is asking; anonymous until the operation's root fields are known. */
  caller: Caller;
  presented: Presented;
  /** Bytes of the body as received. */
  bodyBytes: number;
}
