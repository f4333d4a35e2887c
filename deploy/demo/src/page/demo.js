// What a customer's page does: it requests a session from its own server, and passes the session to the element.
const options = new URLSearchParams(location.search);
const place = document.querySelector('#chat');
const arabic = {
  agent: 'المساعد',
  you: 'أنت',
  conversation: 'محادثة مع {agent}',
  message: 'رسالة',
  placeholder: 'اكتب رسالة…',
  send: 'إرسال',
  stop: 'إيقاف الرد',
  end: 'إنهاء',
  endLong: 'إنهاء المحادثة',
  endQuestion: 'هل تريد إنهاء هذه المحادثة؟',
  endConfirm: 'إنهاء',
  endCancel: 'متابعة',
  ended: 'انتهت هذه المحادثة.',
  connecting: 'جارٍ الاتصال…',
  online: 'متصل',
  reconnecting: 'انقطع الاتصال. جارٍ إعادة الاتصال…',
  failed: 'لا يمكن متابعة هذه المحادثة. أعد تحميل الصفحة.',
  replying: '{agent} يكتب…',
  interrupted: 'أُوقف',
  turnFailed: 'لا يوجد رد:',
  retry: 'إعادة المحاولة',
  notSent: 'لم تُرسل.',
  unknownMessage: 'رسالة من جهاز آخر',
  sources: 'المصادر',
  toolRunning: 'جارٍ استخدام {name}…',
  toolDone: 'استُخدم {name}',
  toolFailed: 'تعذّر {name}',
  toolCancelled: 'أُوقف {name}',
  seconds: '{seconds} ث',
  table: 'جدول',
  tooLong: 'أطول من المسموح بـ {count} حرفًا',
  readAloud: 'اقرأ بصوت عالٍ',
  stopReading: 'أوقف القراءة',
  notSpoken: 'تعذّرت القراءة:',
  record: 'سجّل رسالة',
  stopRecording: 'أوقف وأرسل',
  discard: 'تجاهل',
  askingMicrophone: 'في انتظار الميكروفون…',
  recording: 'جارٍ التسجيل…',
  transcribing: 'جارٍ الاستماع إلى ما قلته…',
  nothingHeard: 'لم يُسمع شيء. حاول مرة أخرى بالقرب من الميكروفون.',
  notHeard: 'تعذّر إرسال ما قلته:',
  tooSlow: 'استغرق وقتًا طويلًا.',
  clipTooLong: 'التسجيل طويل جدًا.',
  microphoneDenied: 'الميكروفون غير مسموح به هنا. اسمح به لهذه الصفحة في المتصفح ثم حاول مرة أخرى.',
  microphoneMissing: 'لم يُعثر على ميكروفون.',
  microphoneFailed: 'تعذّر استخدام الميكروفون. ربما يستخدمه برنامج آخر.',
  newMessages: 'رسائل جديدة',
  opensNewTab: '(يفتح في علامة تبويب جديدة)',
};

/** Returns the tab's session, so that the conversation continues after a reload. */
async function session() {
  const kept = sessionStorage.getItem('session');
  if (kept) return JSON.parse(kept);
  const response = await fetch('/session', { method: 'POST' });
  if (!response.ok) throw new Error(await response.text());
  const text = await response.text();
  sessionStorage.setItem('session', text);
  return JSON.parse(text);
}

function show({ endpoint, token, sessionId, agentName, voiceUrl, voiceName, language }) {
  const chat = document.createElement('parley-chat');
  const theme = options.get('theme');
  if (theme) chat.setAttribute('theme', (document.documentElement.dataset.theme = theme));
  if (options.has('accent')) chat.style.setProperty('--parley-accent', options.get('accent'));
  if (options.get('lang') === 'ar') {
    Object.assign(document.documentElement, { lang: 'ar', dir: 'rtl' });
    chat.setAttribute('labels', JSON.stringify(arabic));
  }
  for (const [name, value] of Object.entries({ endpoint, token, 'session-id': sessionId, 'agent-name': agentName })) {
    chat.setAttribute(name, value);
  }
  if (voiceUrl) {
    for (const [name, value] of Object.entries({
      'voice-url': voiceUrl,
      'voice-name': voiceName,
      'voice-lang': language,
    }))
      chat.setAttribute(name, value);
  }
  place.replaceChildren(chat);
}

async function begin() {
  try {
    show(await session());
  } catch (error) {
    place.textContent = `No session could be started: ${error.message}`;
  }
}

document.querySelector('#new').addEventListener('click', () => {
  sessionStorage.removeItem('session');
  void begin();
});
void begin();
