import { RE2JS } from 're2js';

/** What ajv needs of a regular expression. */
export interface LinearRegExp {
  /** The size of its program. */
  steps: number;
  test(text: string): boolean;
  /** The pattern: ajv shares an expression between all patterns that have the same text here. */
  toString(): string;
}

const maxLength = 1_000;

/** Each character costs at most as many steps. `{n,m}` multiplies. */
const maxSteps = 1_000;

/** Of all patterns of a schema: a step takes about 700 bytes, thousands of times the text that it comes from. */
const maxSchemaSteps = 10_000;

/** Characters after which the states that were found for them are forgotten; each takes up to 8 bytes a step. */
const keepsStatesFor = 50;

export type Patterns = ReturnType<typeof patternsOf>;

/** The patterns of one schema, each compiled once. @param isLenient what cannot be compiled matches everything */
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
 * Compiles a pattern of JSON Schema for an engine that takes time in proportion to the text, whatever the pattern. In contrast to
 * JavaScript, it has no lookaround, no backreferences and no long names of Unicode properties; `\s` is ASCII white space, and `.`
 * matches all but line feeds.
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
