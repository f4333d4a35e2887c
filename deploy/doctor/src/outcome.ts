/** `wrong`: units do not start, or do not work. `warning`: the problem should be corrected before the installation is in use. */
export type Level = 'ok' | 'warning' | 'wrong';

/** The result of one check. Its texts contain no secret. */
export interface Outcome {
  level: Level;
  /** The check's name, e.g. `redis.password`; the part before the dot is the heading in reports. */
  check: string;
  /** The names of the settings that were checked. */
  settings: string[];
  found: string;
  /** The affected items, e.g. schemas; they are appended to `found`. */
  items?: string[];
  /** The recommended change; empty if none is needed. */
  change: string;
}

type Finding = [check: string, settings: string[], found: string, change: string];

export function wrong(...[check, settings, found, change]: Finding): Outcome {
  return { level: 'wrong', check, settings, found, change };
}

export function warning(...[check, settings, found, change]: Finding): Outcome {
  return { level: 'warning', check, settings, found, change };
}

export function ok(check: string, settings: string[], found: string): Outcome {
  return { level: 'ok', check, settings, found, change: '' };
}

/** Merges outcomes that differ only in their settings and items. */
export function merged(outcomes: Outcome[]): Outcome[] {
  const groups = Map.groupBy(outcomes, ({ level, check, found, change }) =>
    JSON.stringify([level, check, found, change]),
  );
  return [...groups.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const { items: _, found, ...outcome } = first;
    const items = unique(same.flatMap((each) => each.items ?? []));
    const settings = unique(same.flatMap((each) => each.settings));
    return [{ ...outcome, settings, found: items.length > 0 ? `${found}: ${items.join(', ')}` : found }];
  });
}

const unique = (texts: string[]) => [...new Set(texts)];
