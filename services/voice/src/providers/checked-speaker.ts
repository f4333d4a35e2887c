import { isAudio } from '../audio/is-audio.ts';
import type { Speaker } from '../speech.ts';
import { unreadable } from './provider-call.ts';

/** A speaker whose answers are audio: whatever else a provider answers is not passed on. */
export function checkedSpeaker(speak: Speaker): Speaker {
  return async (request, asking) => {
    const speech = await speak(request, asking);
    if (!isAudio(speech.audio, request.audioEncoding))
      throw unreadable('speech provider', new Error(`the answer is no ${request.audioEncoding}`));
    return speech;
  };
}
