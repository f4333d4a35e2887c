import { positiveInt } from '../config.ts';

/** What the live events of one process may take of its memory, where no Redis keeps them. Default 256 MB. */
export const eventLogSetting = { EVENT_LOG_MAX_BYTES: positiveInt.default(256 * 1024 * 1024) };
