/** Why a picture has no face to compare. */
export const faceFaults = ['no_face', 'several_faces', 'too_small'] as const;
export type FaceFault = (typeof faceFaults)[number];
