/* A page that was opened from the disk cannot run Python: its panel says what to do (css/launch.css). */
if (location.protocol === "file:") document.documentElement.classList.add("ab-from-disk");
