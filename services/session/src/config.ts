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
      'Maximum number of estimated tokens of a conversation that the model gets with a turn; at most 200 messages.',
    ),
    turnTimeoutMs: setting(
      'SESSION_TURN_TIMEOUT_MS',
      positiveInt.default(120_000),
      'Maximum time of one attempt at a reply after the model was asked; then the turn fails with `TURN_TIMEOUT`. Also the maximum time until the model is asked; then the turn fails with `MODEL_UNAVAILABLE`.',
    ),
    queuedPerSession: setting(
      'SESSION_QUEUED_PER_SESSION',
      positiveInt.default(100),
      'Maximum number of messages that wait in one session; a further message is refused with `TOO_MANY_REQUESTS`.',
    ),
    leaseMs: setting(
      'SESSION_LEASE_MS',
      positiveInt.default(30_000),
      'Maximum time until another process with a free slot takes over the turns and webhooks of a process that has died or no longer responds.',
    ),
    idleMs: setting(
      'SESSION_IDLE_HOURS',
      positiveInt.default(24).transform((hours) => hours * hourMs),
      'Hours without an event after which an ACTIVE session expires.',
    ),
    maxAgeMs: setting(
      'SESSION_MAX_DAYS',
      positiveInt
        .max(1_000_000, 'must be at most 1000000')
        .default(30)
        .transform((days) => days * 24 * hourMs),
      'Age in days at which an ACTIVE session expires, even if the session is in use.',
    ),
    tokenGraceMs: setting(
      'SESSION_TOKEN_GRACE_MS',
      positiveInt.default(600_000),
      'Time after the expiry of a session token for which `refreshAvatarToken` still exchanges the token for a new one.',
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
      'Maximum time for voice to answer a `transcribeSpeech`. Set it above `VOICE_PROVIDER_TIMEOUT_MS`.',
    ),
    maxBytes: setting(
      'SESSION_VOICE_MAX_ANSWER_BYTES',
      byteCount.default(1_048_576),
      'Maximum size of an answer of voice to a `transcribeSpeech`; with a larger answer the request fails with `UNAVAILABLE`.',
    ),
    clipsAtOnce: setting(
      'SESSION_CLIPS_AT_ONCE',
      positiveInt.default(12),
      'Maximum number of clips that one process sends to voice at once for transcription. One tenant may have half of them. Each clip takes up to 12 MB of memory. Up to twice as many clips wait, of one tenant as many as this value; further clips are refused with `TOO_MANY_REQUESTS` or `UNAVAILABLE`.',
    ),
  },
  operatorKey: operatorKeySetting,
  sync: {
    timeoutMs: setting(
      'SESSION_SYNC_TIMEOUT_MS',
      positiveInt.default(15_000),
      'Maximum time until the receiver of a webhook has sent the headers of its response. Then the attempt has failed.',
    ),
    firstRetryMs: setting(
      'SESSION_SYNC_FIRST_RETRY_MS',
      positiveInt.default(5_000),
      'Pause after the first failed attempt at a webhook. Each further pause is about four times as long as the one before, up to 2 hours.',
    ),
    giveUpMs: setting(
      'SESSION_SYNC_HOURS',
      positiveInt
        .max(1_000, 'must be at most 1000')
        .default(24)
        .transform((hours) => hours * hourMs),
      'Hours for which a webhook is retried. Then its delivery is FAILED.',
    ),
    atOnce: setting(
      'SESSION_SYNC_AT_ONCE',
      positiveInt.default(64),
      'Maximum number of webhooks that one process sends at once; further webhooks wait.',
    ),
    perTenant: setting(
      'SESSION_SYNC_PER_TENANT',
      positiveInt.default(4),
      'Maximum number of webhooks of one tenant that are sent at once, over all replicas; further webhooks wait.',
    ),
    logDays: setting(
      'SESSION_SYNC_LOG_DAYS',
      positiveInt.max(10_000, 'must be at most 10000').default(30),
      'Days for which a tenant can see a webhook delivery after the delivery has ended.',
    ),
    kept: setting(
      'SESSION_SYNC_KEPT',
      positiveInt.default(10_000),
      'Number of ended webhook deliveries of one tenant that are kept; there may be some hundred more until the next clean-up. The oldest deliveries are deleted first.',
    ),
  },
  outbound: outboundSettings,
  turnsPerTenant: setting(
    'SESSION_TURNS_PER_TENANT',
    positiveInt.default(50),
    'Maximum number of turns of one tenant that run at once, over all replicas; further turns wait.',
  ),
  turnsAtOnce: turnsAtOnceSetting,
  stopGraceMs: setting(
    'SESSION_STOP_GRACE_MS',
    positiveInt.default(5_000),
    'Maximum time that running turns may continue when a process stops. Then another process takes over the turns.',
  ),
  maxAnswerBytes: setting(
    'SESSION_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Maximum size of one answer of the subgraph; a larger answer fails with `BAD_REQUEST` (`ANSWER_TOO_LARGE`).',
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
