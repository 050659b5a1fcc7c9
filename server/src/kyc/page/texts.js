/**
 * The texts of the page. A further language is a further member with the same keys; a missing key
 * falls back to English.
 */
const texts = {
  en: {
    title: 'Verify your identity',
    intro:
      'We must confirm your identity before we can send you money. It takes about two minutes.',
    needs:
      'You need an identity document (passport, identity card or driving licence) and a camera.',
    privacy: 'Your pictures are stored encrypted and are used only for this verification.',
    declinedIntro:
      'The pictures that we received could not be accepted. Please take new ones: the whole document in the picture, sharp, without reflections.',
    begin: 'Begin',
    stepCount: 'Step {step} of 3',
    'document-front.title': 'Front of your document',
    'document-front.hint':
      'Lay it on a dark surface. All four corners and all text must be visible.',
    'document-front.short': 'Front',
    'document-back.title': 'Back of your document',
    'document-back.hint': 'For a passport, take the page next to the one with your picture.',
    'document-back.short': 'Back',
    'face.title': 'Your face',
    'face.hint': 'Look straight into the camera, in good light, without hat or sunglasses.',
    'face.short': 'Face',
    openCamera: 'Open the camera',
    chooseFile: 'Choose a picture',
    takePicture: 'Take the picture',
    stopCamera: 'Close the camera',
    usePicture: 'Use this picture',
    retake: 'Take another',
    preview: 'Preview: {name}',
    cameraRefused:
      'The camera cannot be opened. Allow it in your browser, or choose a picture instead.',
    notAPicture: 'This file cannot be read as a picture. Choose a JPEG or PNG picture.',
    tooSmall: 'This picture is too small to read. Take it again from nearby.',
    reviewTitle: 'Check your pictures',
    reviewHint: 'Is everything sharp and readable? Then send them.',
    change: 'Retake',
    changeNamed: 'Retake: {name}',
    send: 'Send',
    sending: 'Sending your pictures',
    sendingHint: 'Please keep this page open.',
    checking: 'Checking the pictures…',
    percent: '{percent} percent sent',
    networkProblem: 'The connection broke before everything was sent. Please try again.',
    busyProblem: 'Many people are sending pictures at this moment. Please try again in a moment.',
    largeProblem: 'A picture is too large. Please take it again.',
    serverProblem: 'Something went wrong on our side. Please try again in a few minutes.',
    imageProblem: '{name}: the picture cannot be used. Please take it again.',
    submittedTitle: 'Under review',
    submittedText: 'We have your pictures and are checking them. You can close this page.',
    approvedTitle: 'You are verified',
    approvedText: 'There is nothing more to do. You can close this page.',
    expiredTitle: 'This link has expired',
    expiredText: 'Please ask whoever sent you the link for a new one.',
    invalidTitle: 'This link is not valid',
    invalidText: 'Check that you opened the whole link, or ask whoever sent it to you.',
    unavailableTitle: 'The page cannot be loaded',
    tryAgain: 'Try again',
  },
};

/** The first available language of the reader, or else English. */
export function chooseLanguage(wanted) {
  for (const tag of wanted) {
    const [language] = tag.toLowerCase().split('-');
    if (Object.hasOwn(texts, language)) return language;
  }
  return 'en';
}

/** `say('stepCount', { step: 1 })`: the text of a key with its values inserted. */
export function createSpeaker(language) {
  return (key, values = {}) =>
    (texts[language][key] ?? texts.en[key]).replace(/\{([a-z]+)\}/g, (_match, name) =>
      String(values[name] ?? ''),
    );
}
