import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';

export const toolSettings = {
  rounds: setting(
    'AGENT_TOOL_ROUNDS',
    positiveInt.default(8),
    'Maximum number of rounds of tool calls in one turn, or in one model node of a workflow; in each round the model may call up to 20 tools at once. Then the model has to answer with what is known.',
  ),
  turnTimeMs: setting(
    'AGENT_TOOL_TURN_MS',
    positiveInt.default(60_000),
    'Maximum total time of the rounds of tool calls in one turn, or in one model node of a workflow; calls of one round run at once and count once. Then the model has to answer with what is known.',
  ),
  callTimeMs: setting(
    'AGENT_TOOL_CALL_MS',
    positiveInt.max(30_000, 'must be at most 30000').default(30_000),
    'Maximum time of one tool call, at most 30000. A longer call fails.',
  ),
  describeTimeoutMs: setting(
    'AGENT_TOOL_LIST_TIMEOUT_MS',
    positiveInt.default(5_000),
    'Maximum time that a turn waits for the descriptions of its tools. Then the turn continues without the tools that are not described.',
  ),
  resultBytes: setting(
    'AGENT_TOOL_RESULT_BYTES',
    positiveInt.default(100_000),
    "Maximum size of one tool result that the model gets; at most a quarter of the model's context. A longer result is truncated, and its text mentions this.",
  ),
  turnResultBytes: setting(
    'AGENT_TOOL_TURN_RESULT_BYTES',
    positiveInt.default(400_000),
    "Maximum total size of all tool results of one turn, or of one model node of a workflow, that the model gets; at most half of the model's context. Results of older rounds are truncated first, but each keeps at least 500 bytes.",
  ),
} satisfies Settings;

export type ToolSettings = ValuesOf<typeof toolSettings>;
