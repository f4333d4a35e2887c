const at = (id) => document.getElementById(id);
const audio = at('audio');
let timepoints = [];
let request = new AbortController();

function show(text, isError = false) {
  at('state').textContent = text;
  at('state').classList.toggle('error', isError);
}

/** Returns the text as SSML with a mark before each word, so that the page can show the spoken word. */
function markedWords(text, language) {
  const escaped = (part) =>
    part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const words = [...new Intl.Segmenter(language.replaceAll('_', '-'), { granularity: 'word' }).segment(text)];
  return `<speak>${words
    .map(({ segment, isWordLike }) => (isWordLike ? `<mark name="${escaped(segment)}"/>` : '') + escaped(segment))
    .join('')}</speak>`;
}

/** @param withMarks whether to add a mark before each word of a plain text, if the result stays within the length limit of SSML */
function speechRequest(withMarks) {
  const given = at('text').value.trim();
  const languageCode = at('language').value.trim();
  const voice = { voiceName: at('voice').value.trim(), languageCode };
  const how = { speakingRate: Number(at('rate').value), audioEncoding: at('encoding').value };
  if (given.startsWith('<speak')) return { ssml: given, ...voice, ...how };
  const ssml = withMarks ? markedWords(given, languageCode) : '';
  return { ...(ssml && ssml.length <= 5000 ? { ssml } : { text: given }), ...voice, ...how };
}

async function post(path, body) {
  request.abort();
  request = new AbortController();
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${at('token').value.trim()}` },
    body: JSON.stringify(body),
    signal: request.signal,
  });
  if (response.ok) return response;
  const { error } = await response.json();
  throw new Error(`${response.status} ${error.code}: ${error.message}`);
}

function showMarks(given) {
  timepoints = given;
  at('marks').replaceChildren(
    ...given.map(({ markName, timeSeconds }) => {
      const item = document.createElement('li');
      const time = document.createElement('small');
      time.textContent = ` ${timeSeconds.toFixed(2)} s`;
      item.append(markName, time);
      return item;
    }),
  );
}

function play(source) {
  if (audio.src) URL.revokeObjectURL(audio.src);
  audio.src = URL.createObjectURL(source);
  return audio.play();
}

async function speak() {
  showMarks([]);
  show('Speaking …');
  const start = performance.now();
  const body = speechRequest(true);
  const spoken = await (await post('tts', body)).json();
  const bytes = Uint8Array.from(atob(spoken.audioContent), (character) => character.charCodeAt(0));
  showMarks(spoken.timepoints);
  show(`${bytes.length} bytes and ${spoken.timepoints.length} marks after ${Math.round(performance.now() - start)} ms`);
  await play(new Blob([bytes], { type: body.audioEncoding === 'MP3' ? 'audio/mpeg' : 'audio/wav' }));
}

/** Plays MP3 while it arrives, if the browser supports this; otherwise plays the audio when it is complete. */
async function stream() {
  showMarks([]);
  show('Speaking …');
  const start = performance.now();
  const response = await post('tts/stream', speechRequest(false));
  const type = response.headers.get('content-type');
  const canPlayParts = globalThis.MediaSource?.isTypeSupported(type) ?? false;
  const media = canPlayParts ? new MediaSource() : undefined;
  if (media) {
    play(media).catch(showError);
    await new Promise((resolve) => media.addEventListener('sourceopen', resolve, { once: true }));
  }
  const buffer = media?.addSourceBuffer(type);
  const parts = [];
  let bytes = 0;
  let firstMs;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    firstMs ??= Math.round(performance.now() - start);
    bytes += value.length;
    show(`first audio after ${firstMs} ms, ${bytes} bytes so far`);
    if (!buffer) parts.push(value);
    else {
      buffer.appendBuffer(value);
      await new Promise((resolve) => buffer.addEventListener('updateend', resolve, { once: true }));
    }
  }
  show(`first audio after ${firstMs} ms, all ${bytes} bytes after ${Math.round(performance.now() - start)} ms`);
  if (media) media.endOfStream();
  else await play(new Blob(parts, { type }));
}

let recorder;

async function record() {
  if (recorder) return recorder.stop();
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  const isWebm = MediaRecorder.isTypeSupported('audio/webm;codecs=opus');
  const clip = [];
  recorder = new MediaRecorder(microphone, { mimeType: isWebm ? 'audio/webm;codecs=opus' : 'audio/ogg;codecs=opus' });
  recorder.addEventListener('dataavailable', ({ data }) => clip.push(data));
  recorder.addEventListener('stop', () => {
    recorder = undefined;
    at('record').textContent = 'Record and transcribe';
    for (const track of microphone.getTracks()) track.stop();
    transcribe(new Blob(clip), isWebm ? 'WEBM_OPUS' : 'OGG_OPUS').catch(showError);
  });
  recorder.start();
  setTimeout(() => recorder?.stop(), 55_000);
  at('record').textContent = 'Stop';
  show('Recording …');
}

async function transcribe(clip, audioEncoding) {
  show('Transcribing …');
  const bytes = new Uint8Array(await clip.arrayBuffer());
  let characters = '';
  for (let from = 0; from < bytes.length; from += 8192)
    characters += String.fromCharCode(...bytes.subarray(from, from + 8192));
  const body = { audioBase64: btoa(characters), audioEncoding, languageCode: at('language').value.trim() };
  const { transcript, confidence } = await (await post('stt', body)).json();
  at('heard').textContent = transcript || '(nothing was understood)';
  show(`confidence ${confidence.toFixed(2)}`);
}

function showError(error) {
  if (error.name !== 'AbortError') show(error.message, true);
}

/** Opens the mouth according to the volume of the audio, and shows the latest mark. */
function animate() {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaElementSource(audio).connect(analyser).connect(context.destination);
  const samples = new Float32Array(analyser.fftSize);
  audio.addEventListener('play', () => context.resume());
  const frame = () => {
    analyser.getFloatTimeDomainData(samples);
    const level = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
    at('mouth').setAttribute('ry', String(2 + Math.min(14, level * 60)));
    const reached = timepoints.findLastIndex(({ timeSeconds }) => timeSeconds <= audio.currentTime);
    for (const [i, item] of [...at('marks').children].entries())
      item.classList.toggle('now', i === reached && audio.currentTime > 0);
    requestAnimationFrame(frame);
  };
  frame();
}

const whenReady = (work) => () => {
  if (at('form').reportValidity()) work().catch(showError);
};
audio.addEventListener('play', animate, { once: true });
at('rate').addEventListener('input', () => at('rate-shown').replaceChildren(at('rate').value));
at('form').addEventListener('submit', (event) => {
  event.preventDefault();
  speak().catch(showError);
});
at('stream').addEventListener('click', whenReady(stream));
at('record').addEventListener('click', whenReady(record));
