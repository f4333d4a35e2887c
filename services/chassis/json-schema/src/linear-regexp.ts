import { RE2JS } from 're2js';

/** The part of `RegExp` that ajv uses. */
export interface LinearRegExp {
  /** The number of steps of the compiled program. */
  steps: number;
  test(text: string): boolean;
  /** Returns the pattern, because ajv shares one expression between patterns with the same text. */
  toString(): string;
}

const maxLength = 1_000;

/** Maximum steps of a program. The time for each character of a text grows with the steps. `{n,m}` multiplies steps. */
const maxSteps = 1_000;

/**
 * Maximum steps of all patterns of a schema. A step takes about 700 bytes of memory, and one character of a pattern can stand for many
 * steps.
 */
const maxSchemaSteps = 10_000;

/** Cached states are dropped after this number of characters; a state takes up to 8 bytes per step. */
const keepsStatesFor = 50;

export type Patterns = ReturnType<typeof patternsOf>;

/** The patterns of one schema, each compiled once. @param isLenient whether an unsupported pattern matches everything */
export function patternsOf({ isLenient }: { isLenient: boolean }) {
  const known = new Map<string, LinearRegExp>();
  let steps = 0;

  function compiled(pattern: string): LinearRegExp {
    const made = steps < maxSchemaSteps ? linearRegExp(pattern) : undefined;
    steps += made?.steps ?? 0;
    if (!made || steps > maxSchemaSteps) throw new Error('its patterns repeat too much altogether');
    return made;
  }

  function leniently(pattern: string): LinearRegExp {
    try {
      return compiled(pattern);
    } catch {
      return { steps: 0, test: () => true, toString: () => pattern };
    }
  }

  return {
    of(pattern: string): LinearRegExp {
      const made = known.get(pattern) ?? (isLenient ? leniently(pattern) : compiled(pattern));
      known.set(pattern, made);
      return made;
    },
    get steps() {
      return steps;
    },
  };
}

/**
 * Compiles a pattern of JSON Schema for an engine whose time is proportional to the text, for any pattern. In contrast to JavaScript, the
 * engine has no lookaround, no backreferences and no long names of Unicode properties; `\s` is ASCII white space, and `.` matches all but
 * line feeds.
 * @throws Error that says what is wrong with the pattern
 */
function linearRegExp(pattern: string): LinearRegExp {
  if (pattern.length > maxLength) throw new Error(`a pattern has more than ${maxLength} characters`);
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  const steps = compiled.programSize();
  if (steps > maxSteps) throw new Error('a pattern repeats too much');
  let tested = 0;
  return {
    steps,
    test(text) {
      tested += text.length;
      const matches = compiled.test(text);
      if (tested > keepsStatesFor) {
        compiled.reset();
        tested = 0;
      }
      return matches;
    },
    toString: () => pattern,
  };
}
