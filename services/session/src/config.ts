import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { checkOperatorKey } from '@parley/kernel/settings/operator-key';
import { byteCount, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import {
  avatarTokenKeysSetting,
  operatorKeySetting,
  outboundSettings,
  portSettings,
  publicUrlSetting,
  turnsAtOnceSetting,
  voicePublicUrlSetting,
} from '@parley/kernel/settings/shared-settings';

const hourMs = 60 * 60_000;

export const sessionSettings = {
  /** The settings that the use cases read. */
  settings: {
    historyTokens: setting(
      'SESSION_HISTORY_TOKENS',
      positiveInt.default(6_000),
      'How much of a conversation a model is sent, in estimated tokens; at most 200 messages.',
    ),
    turnTimeoutMs: setting(
      'SESSION_TURN_TIMEOUT_MS',
      positiveInt.default(120_000),
      "How long one attempt at a reply may take from the model's request on (`TURN_TIMEOUT`), and how long it may wait for that request.",
    ),
    queuedPerSession: setting(
      'SESSION_QUEUED_PER_SESSION',
      positiveInt.default(100),
      'Messages that may wait in one session (`TOO_MANY_REQUESTS`).',
    ),
    leaseMs: setting(
      'SESSION_LEASE_MS',
      positiveInt.default(30_000),
      'How long a process may be silent before another takes its turns and webhooks, the search for them included.',
    ),
    idleMs: setting(
      'SESSION_IDLE_HOURS',
      positiveInt.default(24).transform((hours) => hours * hourMs),
      'An ACTIVE session without an event for so long expires.',
    ),
    maxAgeMs: setting(
      'SESSION_MAX_DAYS',
      positiveInt
        .max(1_000_000, 'must be at most 1000000')
        .default(30)
        .transform((days) => days * 24 * hourMs),
      'A session of this age expires, whatever happens in it.',
    ),
    tokenGraceMs: setting(
      'SESSION_TOKEN_GRACE_MS',
      positiveInt.default(600_000),
      'How long after its end a session token may still be exchanged for a new one (`refreshAvatarToken`).',
    ),
  },
  avatarTokenKeys: avatarTokenKeysSetting,
  embed: {
    publicUrl: publicUrlSetting,
    avatarServiceUrl: voicePublicUrlSetting,
  },
  voice: {
    timeoutMs: setting(
      'SESSION_VOICE_TIMEOUT_MS',
      positiveInt.default(45_000),
      'How long voice may take for a `transcribeSpeech`: above its `VOICE_PROVIDER_TIMEOUT_MS`.',
    ),
    maxBytes: setting(
      'SESSION_VOICE_MAX_ANSWER_BYTES',
      byteCount.default(1_048_576),
      'Bytes of its answer; more is `UNAVAILABLE`.',
    ),
    clipsAtOnce: setting(
      'SESSION_CLIPS_AT_ONCE',
      positiveInt.default(12),
      'Clips that one process has transcribed at once, half of them of one tenant; each takes up to 12 MB of memory. Twice as many wait.',
    ),
  },
  operatorKey: operatorKeySetting,
  sync: {
    timeoutMs: setting(
      'SESSION_SYNC_TIMEOUT_MS',
      positiveInt.default(15_000),
      'How long the receiver of a webhook may take until the head of its answer.',
    ),
    firstRetryMs: setting(
      'SESSION_SYNC_FIRST_RETRY_MS',
      positiveInt.default(5_000),
      'The pause after the first failed attempt at a webhook; each next one is four times as long, up to 2 hours.',
    ),
    giveUpMs: setting(
      'SESSION_SYNC_HOURS',
      positiveInt
        .max(1_000, 'must be at most 1000')
        .default(24)
        .transform((hours) => hours * hourMs),
      'How long a webhook is tried before it is given up.',
    ),
    atOnce: setting('SESSION_SYNC_AT_ONCE', positiveInt.default(64), 'Webhooks that one process sends at once.'),
    perTenant: setting(
      'SESSION_SYNC_PER_TENANT',
      positiveInt.default(4),
      'Webhooks of one tenant that are sent at once, over all replicas; its others wait.',
    ),
    logDays: setting(
      'SESSION_SYNC_LOG_DAYS',
      positiveInt.max(10_000, 'must be at most 10000').default(30),
      'Days for which a tenant can see its deliveries after their end.',
    ),
    kept: setting(
      'SESSION_SYNC_KEPT',
      positiveInt.default(10_000),
      'Deliveries of one tenant that are kept after their end, give or take a hundred.',
    ),
  },
  outbound: outboundSettings,
  turnsPerTenant: setting(
    'SESSION_TURNS_PER_TENANT',
    positiveInt.default(50),
    'Turns that run at once for one tenant, over all replicas.',
  ),
  turnsAtOnce: turnsAtOnceSetting,
  stopGraceMs: setting(
    'SESSION_STOP_GRACE_MS',
    positiveInt.default(5_000),
    'How long running turns may go on when a process stops, before they are handed over.',
  ),
  maxAnswerBytes: setting(
    'SESSION_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Bytes of one answer of the subgraph (`ANSWER_TOO_LARGE`).',
  ),
  ...portSettings('session', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export function readSessionConfig(env: Environment): SessionConfig {
  const config = readSettings(env, sessionSettings);
  checkOperatorKey(env, config.operatorKey);
  return config;
}

export type SessionConfig = ValuesOf<typeof sessionSettings>;
export type SessionSettings = SessionConfig['settings'];
