import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import { performTasks } from '@parley/kernel/processes/perform-tasks';
import type { MappingAnswer, MappingTask } from './mapper-process.ts';
import { MappingTooLarge, mappedJson } from './mapping.ts';

// This module runs in the process that `mapper-process.ts` starts.

function mapped({ mapping, payloadJson, maxProcessorMs, maxCharacters }: MappingTask): MappingAnswer {
  try {
    const map = () => ({ json: mappedJson(mapping, JSON.parse(payloadJson), maxCharacters) });
    // The time limit also ends a regular expression that backtracks endlessly.
    return withinProcessorTime(maxProcessorMs, map, { patience: 5 }) ?? { problem: 'MAPPING_TOO_SLOW' };
  } catch (error) {
    const isTooLarge = error instanceof MappingTooLarge || error instanceof RangeError;
    return { problem: isTooLarge ? 'MAPPING_TOO_LARGE' : 'MAPPING_FAILED' };
  }
}

// The first mapping of a process is several times slower than later ones, and must not count against a tenant's time.
mapped({ mapping: { a: '$..a[?@.b]' }, payloadJson: '{"a":[{"b":1}]}', maxProcessorMs: 10_000, maxCharacters: 100 });
performTasks(mapped);
