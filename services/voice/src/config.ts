import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { byteCount, oneOf, port, positiveInt, text } from '@parley/kernel/settings/setting-types';
import { optionalGroup, type Settings, setting } from '@parley/kernel/settings/settings';
import {
  avatarTokenKeysSetting,
  corsOriginsSetting,
  fetchedUrl,
  portSettings,
  trustedProxiesSetting,
} from '@parley/kernel/settings/shared-settings';

const baseUrl = fetchedUrl.transform((url) => url.replace(/\/$/u, ''));

export const voiceSettings = {
  port: setting('VOICE_PORT', port.default(4100), 'Where clients reach it; 0 takes any free port.'),
  ...portSettings('voice', ['ops']),
  avatarTokenKeys: avatarTokenKeysSetting,
  corsOrigins: corsOriginsSetting,
  trustedProxies: trustedProxiesSetting,
  tts: {
    provider: setting(
      'TTS_PROVIDER',
      oneOf(['espeak', 'google', 'openai']).default('espeak'),
      'What speaks: the built-in eSpeak NG, an API like that of Google Cloud Text-to-Speech, or one like that of OpenAI.',
    ),
    url: setting('TTS_URL', baseUrl.optional(), 'Base URL of that API; for `openai` `/v1` included, and required.', {
      without: '`https://texttospeech.googleapis.com` for `google`',
    }),
    key: setting('TTS_KEY', text.optional(), 'Its API key: `X-Goog-Api-Key` for `google`, else a bearer token.', {
      secret: true,
    }),
    model: setting('TTS_MODEL', text.default('tts-1'), 'The model that `openai` is asked for.'),
  },
  stt: {
    provider: setting(
      'STT_PROVIDER',
      oneOf(['google', 'openai', 'whisper']).optional(),
      'What transcribes: an API like that of Google Cloud Speech-to-Text, one like that of OpenAI, or Whisper on this machine.',
      { without: '`/stt` answers 503' },
    ),
    url: setting('STT_URL', baseUrl.optional(), 'Base URL of that API; for `openai` `/v1` included, and required.', {
      without: '`https://speech.googleapis.com` for `google`',
    }),
    key: setting('STT_KEY', text.optional(), 'Its API key, sent as that of `TTS_KEY`.', { secret: true }),
    model: setting('STT_MODEL', text.default('whisper-1'), 'The model that `openai` is asked for.'),
  },
  whisper: {
    folder: setting(
      'VOICE_WHISPER_FOLDER',
      text.optional(),
      'Where `scripts/ear` has installed Whisper; required with `STT_PROVIDER=whisper`.',
      { without: 'Whisper cannot be used' },
    ),
    processes: setting(
      'VOICE_WHISPER_PROCESSES',
      positiveInt.default(1),
      'Processes with Whisper, each for one clip, with two threads and about 300 MB.',
    ),
  },
  avatarVendor: optionalGroup('AVATAR_VENDOR_URL', {
    url: setting(
      'AVATAR_VENDOR_URL',
      baseUrl,
      'Base URL of the vendor of hosted video avatars; below it is `/v1/auth/session-token`.',
      { without: '`/avatar-session` answers 500' },
    ),
    key: setting('AVATAR_VENDOR_KEY', text, 'Sent as bearer token.', { secret: true }),
  }),
  models: {
    folder: setting(
      'VOICE_MODELS_FOLDER',
      text.optional(),
      'A folder of 3D models, `<id>.glb`, with a `models.json`: `[{"id", "label", "gender"}]`. Read at start.',
      { without: 'three plain heads of our own, unless there is `VOICE_MODELS_URL`' },
    ),
    url: setting(
      'VOICE_MODELS_URL',
      fetchedUrl.refine((url) => !/[?#]/u.test(url), 'has a query or fragment').optional(),
      'The same on a web server: the URL of that folder, or of its `.json`. Redirects are not followed.',
      { without: '`VOICE_MODELS_FOLDER`' },
    ),
    keptMs: setting(
      'VOICE_MODELS_KEPT_MS',
      positiveInt.default(300_000),
      'How long its list and files are used before it is asked for changes.',
    ),
    maxBytes: setting(
      'VOICE_MODELS_CACHE_BYTES',
      byteCount.default(268_435_456),
      'Bytes of its files in the temporary folder, so of its largest file, too. Keep it below `tmpSize` of the chart.',
    ),
  },
  providerTimeoutMs: setting(
    'VOICE_PROVIDER_TIMEOUT_MS',
    positiveInt.default(30_000),
    'How long a provider, vendor or `VOICE_MODELS_URL` may take for one answer, and eSpeak NG for one text.',
  ),
  maxAnswerBytes: setting(
    'VOICE_MAX_ANSWER_BYTES',
    byteCount.default(16_777_216),
    'Bytes of an answer of a provider that speaks, and of audio of eSpeak NG: of one answer, or one piece of a stream.',
  ),
  calls: {
    inFlight: setting('VOICE_CALLS_AT_ONCE', positiveInt.default(64), 'Calls of providers at once in this process.'),
    perTenant: setting('VOICE_CALLS_PER_TENANT', positiveInt.default(16), 'The same of one tenant; its others wait.'),
    waitingPerTenant: setting(
      'VOICE_WAITING_PER_TENANT',
      positiveInt.default(100),
      'Calls of one tenant that may wait; one more is `TOO_MANY_REQUESTS`.',
    ),
  },
  speechProcesses: setting(
    'VOICE_ESPEAK_PROCESSES',
    positiveInt.default(2),
    'Processes with eSpeak NG, each for one text at a time, with up to 640 MB.',
  ),
  maxBodiesBytes: setting(
    'VOICE_MAX_BODIES_BYTES',
    byteCount.default(134_217_728),
    'Bytes of all bodies, answers of providers and audio until the client has taken the answer; beyond it 503. One tenant and one address have a quarter, beyond it 429.',
  ),
  requestTimeoutMs: setting(
    'VOICE_REQUEST_TIMEOUT_MS',
    positiveInt.default(30_000),
    'How long a client may take to send a request.',
  ),
  stallTimeoutMs: setting(
    'VOICE_STALL_TIMEOUT_MS',
    positiveInt.default(180_000),
    'How long a client may take nothing of an answer or a model before its connection is closed.',
  ),
  answerTimeoutMs: setting(
    'VOICE_ANSWER_TIMEOUT_MS',
    positiveInt.default(1_800_000),
    'How long a `POST` may take in all, until its answer or stream is read.',
  ),
  maxConnections: setting('VOICE_MAX_CONNECTIONS', positiveInt.default(5_000), 'Connections of one process.'),
} satisfies Settings;

export type VoiceConfig = ReturnType<typeof readVoiceConfig>;

/** Reads the settings. @throws SettingsError for invalid settings, also if a provider has no URL */
export function readVoiceConfig(env: Environment) {
  const read = readSettings(env, voiceSettings);
  const problems = [
    ...(read.tts.provider === 'openai' && !read.tts.url ? ['TTS_URL: is required with TTS_PROVIDER=openai'] : []),
    ...(read.stt.provider === 'openai' && !read.stt.url ? ['STT_URL: is required with STT_PROVIDER=openai'] : []),
    ...(read.stt.provider === 'whisper' && !read.whisper.folder
      ? ['VOICE_WHISPER_FOLDER: is required with STT_PROVIDER=whisper']
      : []),
    ...(read.models.url && read.models.folder ? ['VOICE_MODELS_URL: is set beside VOICE_MODELS_FOLDER; take one'] : []),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  return read;
}
