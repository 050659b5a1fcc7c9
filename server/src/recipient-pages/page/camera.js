import { element } from './elements.js';
import { closeCamera, openCamera, takePicture } from './pictures.js';
import { actions, button, paragraph, showScreen, watchScreen } from './screens.js';
import { say } from './texts.js';

/** The live camera with a frame: what is inside the frame is kept, to the pixel. */

export async function showCameraScreen(type, { retitle, bar, onRefused, onTaken }) {
  // The browser may ask the person first, who can go back instead of answering.
  const isLeft = watchScreen();
  let stream;
  try {
    stream = await openCamera(type);
  } catch {
    if (!isLeft()) onRefused();
    return;
  }
  if (isLeft()) {
    closeCamera(stream);
    return;
  }
  const video = element('video', { autoplay: true, muted: true, playsinline: true });
  video.muted = true;
  video.srcObject = stream;
  const frame = element('div', { class: `keep ${type}` });
  // The picture is read before the screen is left, which ends the camera.
  const take = () => {
    const taken = takePicture(video, { frame, type });
    onTaken(() => taken);
  };
  let isReady = false;
  let shutter;
  video.addEventListener('loadeddata', () => {
    isReady = true;
    shutter.disabled = false;
  });
  // A phone that locks, or another program that takes the camera, ends the stream.
  for (const track of stream.getVideoTracks()) track.addEventListener('ended', onRefused);
  let isDrawnAgain = false;
  // The page is hidden: on a phone, another application is in front.
  const onHidden = () => {
    if (document.visibilityState === 'hidden') history.back();
  };
  document.addEventListener('visibilitychange', onHidden);
  const end = () => {
    if (isDrawnAgain) return;
    document.removeEventListener('visibilitychange', onHidden);
    closeCamera(stream);
  };
  const draw = () => {
    shutter = button('verify.take', take, { class: 'primary', disabled: !isReady });
    showScreen(
      {
        title: retitle(),
        above: [bar()],
        end,
        draw: () => {
          isDrawnAgain = true;
          draw();
          isDrawnAgain = false;
          void video.play();
        },
      },
      paragraph(type === 'face' ? 'verify.hint-face' : 'verify.hint-document'),
      element('div', { class: `camera ${type}` }, video, frame),
      element('p', { class: 'muted' }, say('verify.kept')),
      actions(
        shutter,
        button('verify.closeCamera', () => history.back()),
      ),
    );
  };
  draw();
}
