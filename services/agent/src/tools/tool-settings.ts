import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';

export const toolSettings = {
  rounds: setting(
    'AGENT_TOOL_ROUNDS',
    positiveInt.default(8),
    'How often the model may call tools in a turn, up to 20 side by side; then it has to answer with what is known.',
  ),
  turnTimeMs: setting(
    'AGENT_TOOL_TURN_MS',
    positiveInt.default(60_000),
    'How long the tools of a turn may take in all; then the model has to answer with what is known.',
  ),
  callTimeMs: setting(
    'AGENT_TOOL_CALL_MS',
    positiveInt.max(30_000, 'must be at most 30000').default(30_000),
    'How long a call of a tool may take.',
  ),
  describeTimeoutMs: setting(
    'AGENT_TOOL_LIST_TIMEOUT_MS',
    positiveInt.default(5_000),
    'How long a turn waits for the descriptions of its tools; after that it goes on without.',
  ),
  resultBytes: setting(
    'AGENT_TOOL_RESULT_BYTES',
    positiveInt.default(100_000),
    "How much of a result a model is sent, in bytes, and at most a quarter of the model's context; the rest is cut, and said to be.",
  ),
  turnResultBytes: setting(
    'AGENT_TOOL_TURN_RESULT_BYTES',
    positiveInt.default(400_000),
    "The same of all results of a turn, at most half of the model's context; those of older rounds are cut first.",
  ),
} satisfies Settings;

export type ToolSettings = ValuesOf<typeof toolSettings>;
