import { defineUnit } from '@parley/unit/define-unit';
import { folderModels } from './avatar-models.ts';
import type { VoiceConfig } from './config.ts';
import { voiceDeclaration } from './declaration.ts';
import { tryPage } from './http/try-page.ts';
import { voiceServer } from './http/voice-server.ts';
import type { Ports } from './ports.ts';
import { providerWork } from './provider-work.ts';
import { avatarVendor } from './providers/avatar-vendor.ts';
import { espeakSpeaker } from './providers/espeak-speaker.ts';
import { googleListener, googleSpeaker } from './providers/google-speech.ts';
import { openAiListener, openAiSpeaker } from './providers/openai-speech.ts';
import { providerCall } from './providers/provider-call.ts';
import { whisperListener } from './providers/whisper-listener.ts';
import { remoteModels } from './remote-models.ts';

export const voice = defineUnit(voiceDeclaration, {
  dependencies({ config, metrics, log }): Ports & { espeak: ReturnType<typeof espeakSpeaker> } {
    const { providerTimeoutMs: timeoutMs, maxAnswerBytes: maxBytes, speechProcesses, calls } = config;
    const espeak = espeakSpeaker({ processes: speechProcesses, timeoutMs, maxBytes });
    return {
      espeak,
      speak: speakerOf(config) ?? espeak.speak,
      listen: listenerOf(config),
      openVendorSession:
        config.avatarVendor &&
        avatarVendor(config.avatarVendor, providerCall('avatar vendor', { timeoutMs, maxBytes })),
      models: config.models.url
        ? remoteModels({ ...config.models, url: config.models.url, timeoutMs, metrics, log })
        : folderModels(config.models.folder),
      page: tryPage(),
      provide: providerWork(
        {
          inFlight: calls.inFlight,
          shares: { tenant: { inFlight: calls.perTenant, waiting: calls.waitingPerTenant } },
        },
        metrics,
      ),
      log,
    };
  },
  parts: ({ models, page, espeak }) => [models, page, espeak],
  servers: (ports, given) => [voiceServer(ports, given)],
});

function speakerOf({ tts, providerTimeoutMs: timeoutMs, maxAnswerBytes }: VoiceConfig) {
  const call = providerCall('speech provider', { timeoutMs, maxBytes: maxAnswerBytes });
  if (tts.provider === 'google') return googleSpeaker({ ...tts, call });
  if (tts.provider === 'openai') return openAiSpeaker({ ...tts, url: tts.url ?? '', call });
  return undefined;
}

function listenerOf({ stt, whisper, providerTimeoutMs: timeoutMs, maxAnswerBytes: maxBytes }: VoiceConfig) {
  const call = providerCall('speech provider', { timeoutMs, maxBytes });
  if (stt.provider === 'google') return googleListener({ ...stt, call });
  if (stt.provider === 'openai') return openAiListener({ ...stt, url: stt.url ?? '', call });
  if (stt.provider === 'whisper') return whisperListener({ ...whisper, folder: whisper.folder ?? '', timeoutMs });
  return undefined;
}
